// Looks up the words of a query in the index, and corrects unknown words.

import { stopWords } from '../enrich/labels.ts'
import type { AskedWords, Statements } from './question.ts'
import {
  applyCorrections,
  correctWords,
  findJoined,
  findSplit,
  type Correction,
  misspellings,
  ordinaryWords,
} from './spelling.ts'

/** A word of the query that the index contains. */
export interface KnownTerm {
  /** The word as sent, or corrected. */
  readonly word: string
  /** Number of pages that contain the word. */
  readonly documents: number
  /** Lexemes of the word in English and in the requested language. */
  readonly forms: readonly string[]
  /** Weight of the word in the ranking. Rare words weigh more. */
  readonly weight: number
}

export interface KnownTerms {
  /** Words of the query with all corrections applied. */
  readonly words: readonly string[]
  readonly known: readonly KnownTerm[]
  /** Words that are ignored, because no document contains the word or a similar word. */
  readonly strange: readonly string[]
  readonly corrections: readonly Correction[]
}

const mostCorrected = 4
// A word that occurs on a single page and is one letter away from a frequent word is probably a typing error.
const rarely = 1
const often = 30

/** Looks up the words of a query. Corrects unknown words that are one typing error away from a known word. */
export async function readTerms(
  run: Statements,
  question: AskedWords,
  config: string,
): Promise<KnownTerms> {
  const asked = await lookUp(run, question.words, config)
  // A query with operators is searched as sent, without corrections.
  if (question.operators !== null) return { ...asked, words: question.words, corrections: [] }
  const joined = await findJoined(run, question.words, asked.strange)
  const words = applyCorrections(question.words, joined)
  const whole = joined.length === 0 ? asked : await lookUp(run, words, config)
  const terms = await putRight(run, words, whole)
  const split = await findSplit(
    run,
    terms.strange.filter((word) => !ordinaryWords.has(word)).slice(0, mostCorrected),
  )
  const corrections = [...joined, ...terms.corrections, ...split]
  if (split.length === 0) return { ...terms, corrections }
  const halves = split.flatMap(({ to }) => to.split(' '))
  const { known } = await lookUp(run, halves, config)
  return {
    words: applyCorrections(terms.words, split),
    known: distinct([...terms.known, ...known]),
    strange: terms.strange.filter((word) => !split.some(({ from }) => from === word)),
    corrections,
  }
}

type LookedUp = Awaited<ReturnType<typeof lookUp>>

async function lookUp(run: Statements, words: readonly string[], config: string) {
  const rows = await run.rows<{
    readonly word: string
    /** Lexemes that documents contain; null if there are none. */
    readonly forms: string[] | null
    readonly documents: number
    /** Number of all documents. */
    readonly total: number
  }>({
    name: 'read-terms',
    text: `
      select
        word,
        array_agg(lexeme order by lexeme) filter (where found.documents > 0) as forms,
        max(found.documents) as documents,
        (select coalesce(sum(documents), 0) from corpora) as total
      from unnest($1::text[]) with ordinality as given (word, nth)
      cross join lateral unnest(tsvector_to_array(to_tsvector('english', word) || to_tsvector($2::regconfig, word))) as lexeme
      cross join lateral (
        select coalesce((select documents from lexemes where lexemes.word = lexeme), 0) as documents
      ) as found
      group by word, nth
      order by nth`,
    values: [words, config],
  })
  const total = rows[0]?.total ?? 0
  const known = rows.flatMap(({ word, forms, documents }) =>
    forms === null ? [] : [toTerm({ word, forms, documents }, total)],
  )
  const strange = rows.filter(({ forms }) => forms === null).map(({ word }) => word)
  return { known: distinct(known), strange, total }
}

async function putRight(
  run: Statements,
  words: readonly string[],
  { known, strange, total }: LookedUp,
): Promise<KnownTerms> {
  const rare = known.filter(({ documents }) => documents <= rarely)
  const sure = known.filter(({ documents }) => documents > rarely)
  const wrong = [...strange, ...rare.map(({ word }) => word)]
    .filter((word) => !ordinaryWords.has(word))
    .slice(0, mostCorrected)
  const telling = sure.filter(({ word }) => !stopWords.has(word))
  const titled = allOf(telling, ':A')
  const found = await correctWords(run, wrong, { titled, bold: sure.length > wrong.length })
  const terms = sure.slice()
  for (const term of rare) {
    const [other] = found.get(term.word) ?? []
    if (other !== undefined && other.documents >= often) {
      const forms = [...term.forms, other.lexeme]
      terms.push(toTerm({ word: term.word, forms, documents: other.documents }, total))
    } else terms.push(term)
    found.delete(term.word)
  }
  for (const [, right] of found) {
    const documents = Math.max(...right.map((one) => one.documents))
    const forms = right.map(({ lexeme }) => lexeme)
    terms.push(toTerm({ word: right[0].word, forms, documents }, total))
  }
  return {
    words: words.map((word) => found.get(word)?.[0].word ?? word),
    known: distinct(terms),
    strange: strange.filter((word) => !found.has(word) && !isFiller(word)),
    corrections: [...found].map(([from, [right]]) => ({ from, to: right.word })),
  }
}

/** True for a misspelt stop word, such as `wehn`. Such a word does not count as unknown. */
function isFiller(word: string): boolean {
  return [...misspellings(word)].some(([other, chance]) => chance >= 0.5 && stopWords.has(other))
}

function toTerm({ word, documents, forms }: Omit<KnownTerm, 'weight'>, total: number): KnownTerm {
  const weight = Math.log(1 + Math.max(1, total) / (1 + documents))
  return { word, documents, forms: [...new Set(forms)], weight }
}

function distinct(terms: readonly KnownTerm[]): KnownTerm[] {
  return [...new Map(terms.map((term) => [term.forms.join(' '), term])).values()]
}

/** Builds a tsquery that matches documents with all given terms. */
export function allOf(terms: readonly KnownTerm[], label = ''): string {
  return terms.map((term) => anyOf(term, label)).join(' & ')
}

/** Builds a tsquery that matches documents with any form of a term. */
export function anyOf({ forms }: KnownTerm, label = ''): string {
  const quoted = forms.map(
    (form) => `'${form.replaceAll('\\', '\\\\').replaceAll("'", "''")}'${label}`,
  )
  return `(${quoted.join(' | ')})`
}
