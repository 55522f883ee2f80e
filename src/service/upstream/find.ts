// Finds pages among the documents of this machine, the best first.

import { stem, stopWords, wordsOf } from '../enrich/labels.ts'
import { type Interpretation, mostResults, type Search } from '../schemas.ts'
import type { AskedWords, Statements } from './question.ts'
import { ranking } from './ranking.ts'
import { allOf, anyOf, type KnownTerm, type KnownTerms, readTerms } from './terms.ts'

/** A page among the documents of this machine. */
export interface FoundPage {
  readonly id: number
  readonly url: string
  readonly title: string
  /** The beginning of its text. */
  readonly text: string
  readonly lang: string
  /** Relevance; comparable within one answer only. */
  readonly score: number
}

interface FindOptions {
  readonly search: Search
  readonly question: AskedWords
  /** Number of pages to show. */
  readonly shown: number
  /** Finds known names in a text, in lower case. */
  readonly subjectsIn: (text: string) => readonly string[]
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

// The minimum number of pages for labelling clusters, even if fewer are shown.
export const leastPool = 50
// Maximum number of candidates to rank by all words. The more words a query has, the fewer pages contain all of them.
const rankings = 8000
// If most words of a query are unknown, pages that match the other words match by chance.
const leastKnown = 0.5
// The least share of the query's weight in a page that lacks some words; higher where many words are unknown.
const leastShare = { known: 0.35, strange: 0.6 }

/** The primary language of `hl`, or English. */
export function languageOf({ hl }: Pick<Search, 'hl'>): string {
  return hl?.split('-')[0]?.toLowerCase() ?? 'en'
}

/** Finds pages with all words, then pages with the rarest ones. */
export async function findPages(run: Statements, options: FindOptions) {
  const { search, question, shown } = options
  const language = languageOf(search)
  const config = configs[language] ?? 'simple'
  const terms = await readTerms(run, question, config)
  const unknown = terms.strange.length
  const meant = terms.words.join(' ')
  const subjects = options.subjectsIn(terms.corrections.length > 0 ? meant : search.q)
  const known = weighBeside(terms, subjects)
  if (await isChance(run, terms, subjects)) return { pages: [], meant: null }
  const strict =
    question.operators === null
      ? allOf(known)
      : await parseOperators(run, question.operators, config)
  const rare = known.toSorted((a, b) => b.weight - a.weight).slice(0, 3)
  const pages = await run.rows<FoundPage>({
    name: 'find',
    text: ranking,
    values: [
      meant,
      strict,
      question.operators === null ? allOf(known, ':A') : '',
      question.operators === null ? rare.map((term) => anyOf(term)).join(' | ') : '',
      known.map((term) => anyOf(term)),
      known.map(({ weight }) => weight),
      Math.max(shown, leastPool),
      // The candidates do not depend on `num`, so that ten results are the first ten of a hundred.
      mostResults,
      language,
      Math.max(100, Math.floor(rankings / Math.max(4, known.length))),
      unknown * 3 <= known.length ? leastShare.known : leastShare.strange,
      known.map((term) => anyOf(term, ':AB')),
    ],
  })
  const first = spread(pages.slice(0, leastPool))
  return {
    pages: [...first, ...pages.slice(leastPool)],
    // The corrected query; null when it was searched as sent.
    meant: question.operators === null ? interpret(terms) : null,
  }
}

const longestText = 20_000

/** Reads the beginnings of the texts of these pages, for snippets. */
export async function readTexts(
  run: Statements,
  pages: readonly FoundPage[],
): Promise<Map<number, string>> {
  if (pages.length === 0) return new Map()
  const rows = await run.rows<Pick<FoundPage, 'id' | 'text'>>({
    name: 'read-texts',
    text: `select id, left(body, ${longestText}) as text from documents where id = any($1)`,
    values: [[...new Set(pages.map(({ id }) => id))]],
  })
  return new Map(rows.map(({ id, text }) => [id, text]))
}

/** Reports corrected and ignored words. */
function interpret({ words, strange, corrections: mends }: KnownTerms): Interpretation | null {
  if (mends.length === 0 && strange.length === 0) return null
  const left = new Set(strange)
  return {
    query: words.filter((word) => !left.has(word)).join(' '),
    corrections: [...mends],
    ignored_words: [...strange],
  }
}

// A word that occurs on at most this many pages is probably not the intended one.
const accident = 2
const besideSubject = 0.3

/** Lowers the weight of words beside a known name when some words are unknown or very rare. */
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
 * True if matches are likely due to chance. One known word beside unknown ones has to be the subject of some page:
 * `football results` does not ask about results. A corrected word counts as unknown if others could not be corrected.
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
  const rows = await run.rows<{ there: boolean }>({
    name: 'find-heads',
    text: `
      select exists (
        select from documents
        where left(lower(head), 100) = any($1)
          or (subject and tsv @@ $2::tsquery and tsvector_to_array(to_tsvector('english', head)) <@ $3::text[])
      ) as there`,
    values: [
      words.filter((word) => !stopWords.has(word)),
      known.map((term) => anyOf(term, ':A')).join(' | '),
      known.flatMap(({ forms }) => forms),
    ],
  })
  return rows[0]?.there !== true
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

/** The sentences of a text that match a query best, cut at a whole word. */
export function makeSnippet(q: string, text: string): string {
  const clean = text.replace(/\s+/g, ' ').trim()
  if (clean.length <= longest) return clean
  const stems = (given: string) => wordsOf(given).map(stem)
  const asked = new Set(stems(q).filter((word) => !stopWords.has(word)))
  const sentences = clean.split(/(?<=[.!?])\s+(?=[\p{Lu}\p{N}"'(])/u)
  const scores = sentences.map(
    (sentence) => new Set(stems(sentence).filter((word) => asked.has(word))).size,
  )
  // If several sentences match equally well, the first is used, because the beginning of a page says what it is about.
  const best = scores.indexOf(Math.max(...scores))
  const told = sentences.slice(best).join(' ')
  if (told.length <= longest) return told
  const end = told.lastIndexOf(' ', longest - 1)
  return `${told.slice(0, end > 0 ? end : longest - 1)}…`
}

/** The properties of a page that decide its position. */
interface Placed {
  readonly url: string
  readonly score: number
}

// Readers look at the first ten and expect at most two pages of one folder among them.
const [firstPlaces, eachFolder] = [10, 2]
// Another page moves up only if it is nearly as relevant.
const nearly = 0.6

/**
 * Moves other pages into the first ten when one folder of a site fills them, such as versions of a specification. The
 * pages after the first two keep their order. The result depends on these pages alone, so that all pages of an answer
 * are parts of one list.
 */
export function spread<Page extends Placed>(pages: readonly Page[]): Page[] {
  const left = [...pages]
  const counts = new Map<string, number>()
  const first: Page[] = []
  while (first.length < firstPlaces && left.length > 0) {
    const [next] = left.splice(findNext(left, counts), 1)
    if (next === undefined) break
    const folder = folderOf(next.url)
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
    first.push(next)
  }
  return [...first, ...left]
}

function findNext(left: readonly Placed[], counts: ReadonlyMap<string, number>): number {
  const least = nearly * (left[0]?.score ?? 0)
  const other = left.findIndex(({ url }) => (counts.get(folderOf(url)) ?? 0) < eachFolder)
  return other > 0 && (left[other]?.score ?? 0) >= least ? other : 0
}

/** Host and path without the last part: the folder of pages of one kind. */
export function folderOf(url: string): string {
  const { host, pathname } = new URL(url)
  return host + pathname.replace(/\/+$/, '').replace(/\/[^/]*$/, '')
}
