// Finds pages among the documents on this machine, best page first.

import { stem, stopWords, wordsOf } from '../enrich/labels.ts'
import { type Interpretation, mostResults, type Search } from '../schemas.ts'
import type { Statements } from '../database.ts'
import { ranking } from './ranking.ts'
import { allOf, anyOf, type KnownTerm, type KnownTerms, readQuestion, readTerms } from './terms.ts'

export interface FoundPage {
  readonly id: number
  readonly url: string
  readonly title: string
  /** The beginning of the page's text. */
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

// Minimum number of pages to find for labelling clusters, even if the answer shows fewer pages.
export const leastPool = 50
// Work limit for ranking: the maximum number of candidates, multiplied by the number of words in the query.
const rankings = 8000
// Minimum share of known words in a query. If more words are unknown, pages match the known words only by chance.
const leastKnown = 0.5
// A page that lacks some words must contain at least this share of the query's weight.
const leastShare = { known: 0.35, strange: 0.6 }

export function languageOf({ hl }: Pick<Search, 'hl'>): string {
  return hl?.split('-')[0]?.toLowerCase() ?? 'en'
}

/** Finds pages with all words of the query, then pages with the rarest words. `subjectsIn` finds known names in a text. */
export async function findPages(
  run: Statements,
  search: Search,
  { shown, subjectsIn }: { shown: number; subjectsIn: (text: string) => string[] },
) {
  const question = readQuestion(search.q)
  const language = languageOf(search)
  const config = configs[language] ?? 'simple'
  const terms = await readTerms(run, question, config)
  const meant = terms.words.join(' ')
  const subjects = subjectsIn(terms.corrections.length > 0 ? meant : search.q)
  const known = weighBeside(terms, subjects)
  if (await isChance(run, terms, subjects)) return { pages: [], meant: undefined }
  const { operators } = question
  const isPlain = operators === null
  const strict = isPlain ? allOf(known) : await parseOperators(run, operators, config)
  const rare = known.toSorted((a, b) => b.weight - a.weight).slice(0, 3)
  const pages = await run.rows<FoundPage>({
    name: 'find',
    text: ranking,
    values: [
      meant,
      strict,
      isPlain ? allOf(known, ':A') : '',
      isPlain ? rare.map((term) => anyOf(term)).join(' | ') : '',
      known.map((term) => anyOf(term)),
      known.map(({ weight }) => weight),
      Math.max(shown, leastPool),
      // The candidates do not depend on `num`, so that a search for ten results returns the first ten of a hundred.
      mostResults,
      language,
      Math.max(100, Math.floor(rankings / Math.max(4, known.length))),
      terms.strange.length * 3 <= known.length ? leastShare.known : leastShare.strange,
      known.map((term) => anyOf(term, ':AB')),
    ],
  })
  return {
    pages: [...spread(pages.slice(0, leastPool)), ...pages.slice(leastPool)],
    meant: isPlain ? interpret(terms) : undefined,
  }
}

/** Reports a query's corrected and ignored words; undefined if there are none. */
function interpret({ words, strange, corrections }: KnownTerms): Interpretation | undefined {
  if (corrections.length === 0 && strange.length === 0) return undefined
  const query = words.filter((word) => !strange.includes(word)).join(' ')
  return { query, corrections: [...corrections], ignored_words: [...strange] }
}

// A word that occurs on at most this many pages is probably not the word that the user meant.
const accident = 2
const besideSubject = 0.3

/**
 * If a query contains a known name, lowers the weight of its other words: only of the very rare ones, or of all of them
 * if the query also has unknown words.
 */
function weighBeside({ known, strange }: KnownTerms, subjects: readonly string[]): KnownTerm[] {
  const named = new Set(subjects.flatMap((name) => name.split(/[^\p{L}\p{N}]+/u)))
  if (!known.some(({ word }) => named.has(word))) return [...known]
  return known.map((term) =>
    named.has(term.word) || (strange.length === 0 && term.documents > accident)
      ? term
      : { ...term, weight: besideSubject * term.weight },
  )
}

/**
 * True if matches are likely due to chance. If all but one of a query's words are unknown, the known word must be the
 * subject of some page. For example, `football results` does not ask about results. A corrected word counts as unknown
 * if other words could not be corrected.
 */
async function isChance(
  run: Statements,
  { words, known, strange, corrections: mends }: KnownTerms,
  subjects: readonly string[],
): Promise<boolean> {
  if (known.length === 0 || strange.length === 0) return known.length === 0
  const sure = known.length - mends.length
  if (sure > 1 && sure / (known.length + strange.length) >= leastKnown) return false
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
  const rows = await run.rows<{ query: string }>({
    name: 'parse-operators',
    text: `select (websearch_to_tsquery('english', $1) || websearch_to_tsquery($2::regconfig, $1))::text as query`,
    values: [text, config],
  })
  return rows[0]?.query ?? ''
}

const longest = 220

/** Returns the part of a text that matches a query best, from the start of a sentence to the end of a word. */
export function makeSnippet(q: string, text: string): string {
  const clean = text.replace(/\s+/g, ' ').trim()
  if (clean.length <= longest) return clean
  const stems = (given: string) => new Set(wordsOf(given).map(stem))
  const asked = [...stems(q)].filter((word) => !stopWords.has(word))
  const sentences = clean.split(/(?<=[.!?])\s+(?=[\p{Lu}\p{N}"'(])/u)
  const scores = sentences.map((sentence) => {
    const said = stems(sentence)
    return asked.filter((word) => said.has(word)).length
  })
  // If several sentences match equally well, the first is used, because a page states its subject at the beginning.
  const best = scores.indexOf(Math.max(...scores))
  const told = sentences.slice(best).join(' ')
  if (told.length <= longest) return told
  const end = told.lastIndexOf(' ', longest - 1)
  return `${told.slice(0, end > 0 ? end : longest - 1)}…`
}

const [firstPlaces, eachFolder] = [10, 2]
// A page from another folder moves up only if it is nearly as relevant as the page that it passes.
const nearly = 0.6

/**
 * Moves pages from other folders into the top ten if one folder fills it, for example with versions of a specification.
 * The result depends only on the given pages, so that answers of different lengths show parts of the same list.
 */
export function spread<Page extends Pick<FoundPage, 'url' | 'score'>>(
  pages: readonly Page[],
): Page[] {
  const left = [...pages]
  const counts = new Map<string, number>()
  const countOf = ({ url }: Page) => counts.get(folderOf(url)) ?? 0
  const first: Page[] = []
  while (first.length < firstPlaces && left.length > 0) {
    const other = left.findIndex((page) => countOf(page) < eachFolder)
    const isNear = (left[other]?.score ?? 0) >= nearly * (left[0]?.score ?? 0)
    const [next] = left.splice(other > 0 && isNear ? other : 0, 1)
    if (next === undefined) break
    counts.set(folderOf(next.url), countOf(next) + 1)
    first.push(next)
  }
  return [...first, ...left]
}

/** Returns the host, and the path without its last segment. Pages of the same kind are in the same folder. */
export function folderOf(url: string): string {
  const { host, pathname } = new URL(url)
  return host + pathname.replace(/\/+$/, '').replace(/\/[^/]*$/, '')
}
