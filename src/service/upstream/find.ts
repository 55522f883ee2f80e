// Finds pages among the documents on this machine, best page first.

import type { Gazetteer } from '../enrich/entities.ts'
import { recalled, stem, stopWords, wordsOf } from '../enrich/labels.ts'
import { type Interpretation, mostResults, type Search } from '../schemas.ts'
import type { Statements } from '../database.ts'
import { rankingOf } from './ranking.ts'
import {
  allOf,
  anyOf,
  enoughOf,
  type KnownTerm,
  type KnownTerms,
  readQuestion,
  readTerms,
} from './terms.ts'

export interface FoundPage {
  readonly url: string
  readonly title: string
  readonly text: string
  readonly lang: string
  /** Relevance, which is comparable only within one answer. */
  readonly score: number
}

const configs: Readonly<Record<string, string>> = {
  de: 'german',
  en: 'english',
  es: 'spanish',
  fr: 'french',
  it: 'italian',
  nl: 'dutch',
  pt: 'portuguese',
}

// Number of pages used to label clusters, even if the answer shows fewer pages.
export const leastPool = 50
export function languageOf({ hl }: Pick<Search, 'hl'>): string {
  return hl?.split('-')[0]?.toLowerCase() ?? 'en'
}

/** Finds pages with all words of the query, then pages with the rarest words. */
export async function findPages(
  run: Statements,
  search: Search,
  { shown, gazetteer }: { shown: number; gazetteer: Gazetteer },
) {
  const question = readQuestion(search.q)
  const language = languageOf(search)
  const config = configs[language] ?? 'simple'
  const terms = await readTerms(run, question, config)
  const meant = terms.words.join(' ')
  const names = gazetteer.findAny(terms.corrections.length > 0 ? meant : search.q)
  const subjects = names.map(({ name }) => name.toLowerCase())
  const known = weighBeside(terms, subjects)
  if (await isChance(run, terms, subjects)) return { pages: [], meant: undefined }
  const { operators } = question
  const isPlain = operators === null
  const strict = isPlain ? allOf(known) : await parseOperators(run, operators, config)
  const rarest = known.toSorted((a, b) => b.weight - a.weight).slice(0, 4)
  const least = terms.strange.length * 3 <= known.length ? 0.35 : 0.6
  const total = sumWeights(known)
  const beside = total - sumWeights(rarest)
  const pages = await run.rows<FoundPage>({
    name: `find-${known.length}`,
    text: rankingOf(known.length),
    values: [
      meant,
      strict,
      isPlain ? allOf(known, ':A') : '',
      isPlain ? rarest.map((term) => anyOf(term)).join(' | ') : '',
      // A query with operators needs exact matches.
      isPlain ? enoughOf(rarest, Math.max(least * total - beside, 0.001)) : '',
      Math.max(shown, leastPool),
      // The limit does not depend on `num`, so a search for ten results returns the first ten of a hundred.
      mostResults,
      language,
      // Maximum number of candidates; each is compared with each word.
      Math.max(100, Math.floor(8000 / Math.max(4, known.length))),
      least,
      ...known.flatMap((term) => [anyOf(term), anyOf(term, ':AB'), term.weight / total]),
    ],
  })
  return {
    pages: [...spread(pages.slice(0, leastPool)), ...pages.slice(leastPool)],
    meant: isPlain ? interpret(terms) : undefined,
  }
}

function interpret({ words, strange, corrections }: KnownTerms): Interpretation | undefined {
  if (corrections.length === 0 && strange.length === 0) return undefined
  const query = words.filter((word) => !strange.includes(word)).join(' ')
  return { query, corrections: [...corrections], ignored_words: [...strange] }
}

function sumWeights(terms: readonly KnownTerm[]): number {
  return terms.reduce((sum, { weight }) => sum + weight, 0)
}

/** If a query contains a known name, lowers the weight of the other words: rare words, or all if any is unknown. */
function weighBeside({ known, strange }: KnownTerms, subjects: readonly string[]): KnownTerm[] {
  const named = new Set(subjects.flatMap((name) => name.split(/[^\p{L}\p{N}]+/u)))
  if (!known.some(({ word }) => named.has(word))) return [...known]
  return known.map((term) =>
    named.has(term.word) || (strange.length === 0 && term.documents > 2)
      ? term
      : { ...term, weight: 0.3 * term.weight },
  )
}

/**
 * True if matches are likely due to chance. If only one word is known, that word must be the subject of a page:
 * `football results` is not about results. A corrected word counts as unknown if other words could not be corrected.
 */
async function isChance(run: Statements, terms: KnownTerms, subjects: readonly string[]) {
  const { words, known, strange, corrections } = terms
  if (known.length === 0 || strange.length === 0) return known.length === 0
  const sure = known.length - corrections.length
  if (sure > 1 && sure / (known.length + strange.length) >= 0.5) return false
  if (subjects.length > 0) return false
  const rows = await run.rows({
    name: 'find-heads',
    text: `
      select from documents
      where left(lower(head), 100) = any($1)
        or (subject and tsv @@ $2::tsquery and tsvector_to_array(to_tsvector('english', head)) <@ $3::text[])
      limit 1`,
    values: [
      words.filter((word) => !stopWords.has(word)),
      known.map((term) => anyOf(term, ':A')).join(' | '),
      known.flatMap(({ forms }) => forms),
    ],
  })
  return rows.length === 0
}

async function parseOperators(run: Statements, text: string, config: string): Promise<string> {
  const sql = `select (websearch_to_tsquery('english', $1) || websearch_to_tsquery($2::regconfig, $1))::text as query`
  const rows = await run.rows<{ query: string }>({ text: sql, values: [text, config] })
  return rows[0]?.query ?? ''
}

/** Returns the part of a text that matches a query best, from the start of a sentence to the end of a word. */
export function makeSnippet(q: string, text: string): string {
  const longest = 220
  const sentences = sentencesOf(text)
  const asked = [...stemsOf(q)].filter((word) => !stopWords.has(word))
  const scores = sentences.map(({ stems }) => asked.filter((word) => stems.has(word)).length)
  const isShort = sentences.reduce((sum, { said }) => sum + said.length + 1, -1) <= longest
  // If several sentences match equally well, the first is used, because pages state their subject first.
  const best = isShort ? 0 : scores.indexOf(Math.max(...scores))
  const told = sentences
    .slice(best)
    .map(({ said }) => said)
    .join(' ')
  if (told.length <= longest) return told
  const end = told.lastIndexOf(' ', longest - 1)
  return `${told.slice(0, end > 0 ? end : longest - 1)}…`
}

const stemsOf = (text: string) => new Set(wordsOf(text).map(stem))

const sentencesOf = recalled((text) =>
  text
    .replace(/\s+/g, ' ')
    .trim()
    .split(/(?<=[.!?])\s+(?=[\p{Lu}\p{N}"'(])/u)
    .map((said) => ({ said, stems: stemsOf(said) })),
)

/** Limits each folder to two pages in the top ten, if pages from other folders are nearly as relevant. */
export function spread<Page extends Pick<FoundPage, 'url' | 'score'>>(
  pages: readonly Page[],
): Page[] {
  const left = pages.map((page) => ({ page, folder: folderOf(page.url) }))
  const counts = new Map<string, number>()
  const first: Page[] = []
  while (first.length < 10 && left.length > 0) {
    const other = left.findIndex(({ folder }) => (counts.get(folder) ?? 0) < 2)
    const isNear = (left[other]?.page.score ?? 0) >= 0.6 * (left[0]?.page.score ?? 0)
    const [next] = left.splice(other > 0 && isNear ? other : 0, 1)
    if (next === undefined) break
    counts.set(next.folder, (counts.get(next.folder) ?? 0) + 1)
    first.push(next.page)
  }
  return [...first, ...left.map(({ page }) => page)]
}

export const folderOf = recalled((url) => {
  const { host, pathname } = new URL(url)
  return host + pathname.replace(/\/+$/, '').replace(/\/[^/]*$/, '')
})
