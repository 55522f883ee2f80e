import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import MiniSearch from 'minisearch'
import { furtherWords, shippedFile, titleAlone } from '../../src/service/corpus/load.ts'
import type { Tables } from '../../src/service/database.ts'
import { stem, stopWords } from '../../src/service/enrich/labels.ts'

/** Returns the addresses of the first ten pages. */
export type FindUrls = (q: string) => Promise<readonly string[]>

/** Plain search engines on the shipped documents for comparison with the service, each used as its manual shows. */
export function openBaselines(tables: Tables): Readonly<Record<string, FindUrls>> {
  return { 'full text': plainFullText(tables), MiniSearch: openMiniSearch() }
}

/** PostgreSQL's full text search: pages with any of the words, by `ts_rank`. */
function plainFullText({ searches }: Tables): FindUrls {
  return async (q) => {
    const { rows } = await searches.query<{ url: string }>(
      `with asked as (select replace(plainto_tsquery('english', $1)::text, '&', '|')::tsquery as any_word)
      select url
      from documents, asked
      where tsv @@ any_word
      order by ts_rank(tsv, any_word) desc, url
      limit 10`,
      [q],
    )
    return rows.map(({ url }) => url)
  }
}

interface Page {
  readonly url: string
  readonly title: string
  readonly text?: string
}

/** BM25+ with titles first, and one wrong letter in words that are in no document. */
function openMiniSearch(): FindUrls {
  const known = new Set<string>()
  const engine = new MiniSearch<Page>({
    idField: 'url',
    fields: ['head', 'words', 'text'],
    extractField: (page, field) => {
      if (field === 'head') return titleAlone(page.title)
      return field === 'words' ? furtherWords(page) : (page[field as keyof Page] ?? '')
    },
    processTerm: (text) => {
      const term = termOf(text)
      if (term !== null) known.add(term)
      return term
    },
  })
  const lines = gunzipSync(readFileSync(shippedFile)).toString('utf8').trim().split('\n')
  engine.addAll(lines.map((line) => JSON.parse(line) as Page))
  return (q) => {
    const found = engine.search(q, {
      boost: { head: 4, words: 2 },
      fuzzy: (term) => (known.has(term) ? false : 1),
      processTerm: termOf,
    })
    return Promise.resolve(found.slice(0, 10).map(({ id }) => id as string))
  }
}

function termOf(text: string): string | null {
  const word = text.toLowerCase()
  return stopWords.has(word) ? null : stem(word)
}
