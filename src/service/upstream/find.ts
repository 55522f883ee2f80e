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
  if (known.length === 0 || known.length / (known.length + unknown) < leastKnown) {
    return { pages: [], terms }
  }
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
    ],
  })
  return { pages, terms }
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
