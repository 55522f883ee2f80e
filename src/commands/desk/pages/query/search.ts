import { findQueries, type FoundQuery } from '../../../../store/analysis/query-facts.ts'
import { html, type Html } from '../../../drawing/html.ts'
import { definePage, inOnePiece, type FilePage, type PagePlace } from '../../page.ts'
import { amount, given, instant, nothing, section, table } from '../../../drawing/parts.ts'
import { keptFilters } from '../choose.ts'
import { toQuery } from '../ways.ts'

const most = 100
const suggested = 12

/** Which queries there are, and a field that finds one. */
export const queriesPage = definePage({
  path: '/queries',
  nav: 'Queries',
  ask: (address) => ({ word: address.text('word') }),
  read: (reading, { word }) => reading.answers((db) => findQueries(db, { word, most })),
  show: (found, place, { word }) => ({
    title: 'Queries',
    lead:
      word === null
        ? 'Where a query stood day by day, what each night showed for it, and what changed between two.'
        : html`With ${given(word)} in them${found.length === most ? `, the first ${most}` : ''}.`,
    body: html`${searchForm(place, word, found)}
    ${found.length > 0 ? list(found, place, word) : word === null ? nothingYet : noneLike(word)}`,
  }),
})

const nothingYet = nothing(
  'Every query of your lists would be here, with a search that finds them by a part of their text.',
  'npm run enqueue inputs/keywords.csv',
)

function noneLike(word: string): Html {
  return nothing(`No query of any list has ${JSON.stringify(word)} in it.`, null)
}

/** Suggestions come with the page, and better ones while somebody types where there is script. */
function searchForm(place: PagePlace, word: string | null, found: readonly FoundQuery[]): Html {
  return html`<form class="filters" method="get" action="/queries" role="search">
    ${keptFilters(place)}
    <label class="wide"
      >A query, or a part of one
      <input
        type="search"
        name="word"
        value="${word ?? ''}"
        list="queries-known"
        data-suggest="${place.href('/suggested/queries')}"
        dir="auto"
        autocomplete="off"
      />
    </label>
    <datalist id="queries-known">
      ${[...new Set(found.slice(0, 30).map(({ q }) => q))].map((q) => html`<option value="${q}"></option>`)}
    </datalist>
    <button class="main">Search</button>
  </form>`
}

function list(found: readonly FoundQuery[], place: PagePlace, word: string | null): Html {
  const title = word === null ? 'The heaviest ones' : 'Found'
  return section(
    { id: 'found', title: html`${title} (${amount(found.length)})` },
    queryTable(found, place),
  )
}

/** Queries, each a way to its page. */
function queryTable(found: readonly FoundQuery[], place: PagePlace): Html {
  return table(
    'Queries',
    [
      { head: 'Query', cell: ({ id, q }) => toQuery(place, id, q) },
      { head: 'Asked as', cell: ({ variant }) => given(variant === '' ? null : variant) },
      { head: 'Lists', cell: ({ lists }) => given(lists?.join(', ') ?? null) },
      {
        head: 'Last answered',
        word: true,
        cell: ({ fetchedAt }) => instant(fetchedAt, place.zone),
      },
    ],
    found,
  )
}

/** Suggestions for who types: texts of queries, as JSON. */
export const suggestions: FilePage = {
  path: '/suggested/queries',
  send: async (address, reading) => {
    const word = address.text('word')
    const found = await reading.answers((db) => findQueries(db, { word, most: suggested * 2 }))
    const texts = [...new Set(found.map(({ q }) => q))].slice(0, suggested)
    return {
      type: 'application/json',
      name: 'suggested.json',
      pieces: inOnePiece(JSON.stringify(texts)),
    }
  },
}
