import type { SerpResult, SerpWords } from '../../../../store/analysis/serp.ts'
import { html, link, type Html } from '../../../drawing/html.ts'
import type { PagePlace } from '../../page.ts'
import { amount, badge, given, nothing, table } from '../../../drawing/parts.ts'
import { toDomain, toPage, toQuery } from '../ways.ts'

/** The results of one answer. */
export function resultTable(results: readonly SerpResult[], place: PagePlace): Html {
  if (results.length === 0) return nothing('The answer holds no results.', null)
  return table(
    'Results by place',
    [
      { head: 'Place', number: true, cell: ({ position }) => amount(position) },
      {
        head: 'Result',
        cell: (result) =>
          html`${titleOf(result)}
            <p class="snippet">
              ${toDomain(place, result.domain)} · ${toPage(place, result.page, result.pageKey)}
            </p>
            <p class="snippet soft" dir="auto">${result.snippet}</p>`,
      },
    ],
    results,
  )
}

/** A title that leads to its address, when that is one of the web; any other address is text. */
export function titleOf({ title, url }: Pick<SerpResult, 'title' | 'url'>): Html {
  const text = title === null || title.trim() === '' ? (url ?? '(without a title)') : title
  return html`<bdi class="given" dir="auto">${link(url, text)}</bdi>`
}

/** What an answer holds besides its results; null: nothing. */
export function drawWords(words: readonly SerpWords[], place: PagePlace): Html | null {
  if (words.length === 0) return null
  const kinds = [
    ['block', 'Blocks besides the results'],
    ['entity', 'Entities'],
    ['group', 'Groups'],
    ['related', 'Related searches'],
  ] as const
  const shown = kinds.flatMap(([kind, head]) => {
    const found = words.filter((word) => word.kind === kind)
    return found.length === 0
      ? []
      : [
          html`<dt>${head}</dt>
            <dd>${wordList(found, place)}</dd>`,
        ]
  })
  return html`<dl class="facts words">${shown}</dl>`
}

function wordList(words: readonly SerpWords[], place: PagePlace): Html {
  return html`<ul class="chips">
    ${words.map(({ text, type, query }) => {
      const shown = query === null ? given(text) : toQuery(place, query, text)
      return html`<li>
        ${type === null ? null : html`${badge(type, 'soft')} `}${text === '' ? null : shown}
      </li>`
    })}
  </ul>`
}
