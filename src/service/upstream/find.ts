import { stopWords } from '../enrich/words.ts'
import type { Search } from '../schemas.ts'
import type { AskedWords } from './question.ts'
import { ranking } from './ranking.ts'
import type { Statements } from './statements.ts'
import { readTerms, type KnownTerm, type KnownTerms } from './terms.ts'

/** A page of this machine, best first. */
export interface FoundPage {
  readonly url: string
  readonly title: string
  /** The beginning of what it says; more of it where it is shown. */
  readonly text: string
  readonly lang: string
  /** How well it fits; comparable within one answer only. */
  readonly score: number
}

export interface FoundPages {
  readonly pages: readonly FoundPage[]
  readonly terms: KnownTerms
}

export interface FindWish {
  readonly search: Search
  readonly question: AskedWords
  /** How many pages are shown. */
  readonly shown: number
  /** Whether the server knows how alike two texts are. */
  readonly trigrams: boolean
  /** Names of known things that the query speaks of, in lower case. */
  readonly subjects: readonly string[]
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
const leastPool = 50
// Candidates that are ranked by all of their words: with many words fewer pages hold them all.
const rankings = 8000
// Of a query most of whose words nobody ever wrote, the rest is chance.
const leastKnown = 0.5
// A page without all of the words holds at least so much of their weight; more where some are strange.
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
  const { known, unknown } = terms
  if (await isChance(run, terms, wish)) return { pages: [], terms }
  const strict =
    question.operators === null ? all(known) : await parseOperators(run, question.operators, config)
  const rare = known.toSorted((a, b) => b.weight - a.weight).slice(0, 3)
  const pages = await run.rows<FoundPage>({
    name: trigrams ? 'find' : 'find-plain',
    text: trigrams ? ranking.trigrams : ranking.plain,
    values: [
      question.words.map((word) => terms.corrected.get(word) ?? word).join(' '),
      strict,
      question.operators === null ? all(known, ':A') : '',
      question.operators === null ? rare.map(any).join(' | ') : '',
      known.map(any),
      known.map(({ weight }) => weight),
      Math.max(shown, leastPool),
      shown,
      language,
      Math.max(100, Math.floor(rankings / Math.max(4, known.length))),
      unknown === 0 ? leastShare.known : leastShare.strange,
    ],
  })
  return { pages, terms }
}

/**
 * One known word beside strange ones has to be what some page is about: `football results` asks about no results. So do
 * few beside many. A word that had to be put right counts as strange where others could not be.
 */
async function isChance(
  run: Statements,
  { known, unknown, corrected }: KnownTerms,
  { question, subjects }: FindWish,
): Promise<boolean> {
  if (known.length === 0 || unknown === 0) return known.length === 0
  const sure = known.length - corrected.size
  if (sure > 1 && sure / (known.length + unknown) >= leastKnown) return false
  if (subjects.length > 0) return false
  const rows = await run.rows<{ there: boolean }>({
    name: 'find-heads',
    text: 'select exists (select from documents where left(lower(head), 100) = any($1)) as there',
    values: [question.words.filter((word) => !stopWords.has(word))],
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

function all(terms: readonly KnownTerm[], label = ''): string {
  return terms.map((term) => `(${quoted(term, label).join(' | ')})`).join(' & ')
}

function any(term: KnownTerm): string {
  return `(${quoted(term, '').join(' | ')})`
}

function quoted({ forms }: KnownTerm, label: string): string[] {
  return forms.map((form) => `'${form.replaceAll('\\', '\\\\').replaceAll("'", "''")}'${label}`)
}
