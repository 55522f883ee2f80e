import { stopWords } from '../enrich/words.ts'
import { mostReach } from '../params.ts'
import type { Interpretation, Search } from '../schemas.ts'
import type { AskedWords } from './question.ts'
import { ranking } from './ranking.ts'
import { spread } from './spread.ts'
import type { Statements } from './statements.ts'
import { allOf, anyOf, readTerms, type KnownTerm, type KnownTerms } from './terms.ts'

/** A page of this machine, best first. */
export interface FoundPage {
  readonly id: number
  readonly url: string
  readonly title: string
  /** The beginning of what it says. */
  readonly text: string
  readonly lang: string
  /** How well it fits; comparable within one answer only. */
  readonly score: number
}

export interface FoundPages {
  readonly pages: readonly FoundPage[]
  /** What was searched for instead of what was sent; null where that was the same. */
  readonly meant: Interpretation | null
}

export interface FindWish {
  readonly search: Search
  readonly question: AskedWords
  /** How many pages are shown. */
  readonly shown: number
  /** Whether the server knows how alike two texts are. */
  readonly trigrams: boolean
  /** Names of known things that a text speaks of, in lower case. */
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

// Labels of clusters rest on so many pages, however few are shown.
export const leastPool = 50
// Candidates that are ranked by all of their words: with many words fewer pages hold them all.
const rankings = 8000
// Of a query most of whose words nobody ever wrote, the rest is chance.
const leastKnown = 0.5
// A page without all of the words holds at least so much of their weight; more where many are strange.
const leastShare = { known: 0.35, strange: 0.6 }

/** The main language of an `hl` that was sent, or English. */
export function languageOf({ hl }: Pick<Search, 'hl'>): string {
  return hl?.split('-')[0]?.toLowerCase() ?? 'en'
}

/** Pages with all words first, topped up by those that hold the rarest ones. */
export async function findPages(run: Statements, wish: FindWish): Promise<FoundPages> {
  const { search, question, shown, trigrams } = wish
  const language = languageOf(search)
  const config = configs[language] ?? 'simple'
  const terms = await readTerms(run, question, config)
  const unknown = terms.strange.length
  const meant = terms.words.join(' ')
  const subjects = wish.subjectsIn(terms.mends.length > 0 ? meant : search.q)
  const known = weighBeside(terms, subjects)
  if (await isChance(run, terms, subjects)) return { pages: [], meant: null }
  const strict =
    question.operators === null
      ? allOf(known)
      : await parseOperators(run, question.operators, config)
  const rare = known.toSorted((a, b) => b.weight - a.weight).slice(0, 3)
  const pages = await run.rows<FoundPage>({
    name: trigrams ? 'find' : 'find-plain',
    text: trigrams ? ranking.trigrams : ranking.plain,
    values: [
      meant,
      strict,
      question.operators === null ? allOf(known, ':A') : '',
      question.operators === null ? rare.map((term) => anyOf(term)).join(' | ') : '',
      known.map((term) => anyOf(term)),
      known.map(({ weight }) => weight),
      Math.max(shown, leastPool),
      // The same for every page of an answer: what came in on the second would move what stood on the first.
      mostReach,
      language,
      Math.max(100, Math.floor(rankings / Math.max(4, known.length))),
      unknown * 3 <= known.length ? leastShare.known : leastShare.strange,
      known.map((term) => anyOf(term, ':AB')),
    ],
  })
  const first = spread(pages.slice(0, leastPool))
  return {
    pages: [...first, ...pages.slice(leastPool)],
    meant: question.operators === null ? interpret(terms) : null,
  }
}

const longestText = 20_000

/** What these pages say, by their numbers: as much of it as a snippet is looked for in. */
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

/** Says what was put right and what was left out. */
function interpret({ words, strange, mends }: KnownTerms): Interpretation | null {
  if (mends.length === 0 && strange.length === 0) return null
  const left = new Set(strange)
  return {
    query: words.filter((word) => !left.has(word)).join(' '),
    corrections: [...mends],
    ignored_words: [...strange],
  }
}

// Hardly any page holds such a word: it came with the query by accident.
const accident = 2
const besideSubject = 0.3

/** Beside the name of a known thing other words tell less where some are strange, or where hardly a page holds them. */
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
 * One known word beside strange ones has to be what some page is about: `football results` asks about no results. So do
 * few beside many. A word that had to be put right counts as strange where others could not be.
 */
async function isChance(
  run: Statements,
  { words, known, strange, mends }: KnownTerms,
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
