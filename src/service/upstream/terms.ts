// Looks up a query's words in the index, and corrects unknown words.

import { stopWords } from '../enrich/labels.ts'
import type { AskedWords, Statements } from './question.ts'
import {
  applyCorrections,
  correctWords,
  findJoined,
  findSplit,
  type Correction,
  ordinaryWords,
} from './spelling.ts'

/** A query word that the index contains. */
export interface KnownTerm {
  /** The word as sent, or corrected. */
  readonly word: string
  readonly documents: number
  /** Lexemes of the word in English and in the requested language. */
  readonly forms: readonly string[]
  readonly weight: number
}

export interface KnownTerms {
  /** Words of the query with all corrections applied. */
  readonly words: readonly string[]
  readonly known: readonly KnownTerm[]
  /** Words that are ignored, because no document contains them or similar words. */
  readonly strange: readonly string[]
  readonly corrections: readonly Correction[]
}

const mostCorrected = 4
// A word that occurs on a single page and is one letter away from a frequent word is probably a typing error.
const rarely = 1
const often = 30

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
  const split = await findSplit(run, correctable(terms.strange))
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

function correctable(words: readonly string[]): string[] {
  return words.filter((word) => !ordinaryWords.has(word)).slice(0, mostCorrected)
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
  const wrong = correctable([...strange, ...rare.map(({ word }) => word)])
  const telling = sure.filter(({ word }) => !stopWords.has(word))
  const titled = allOf(telling, ':A')
  const found = await correctWords(run, wrong, { titled, bold: sure.length > wrong.length })
  const widened = rare.map((term) => {
    const [other] = found.get(term.word) ?? []
    if (other === undefined || other.documents < often) return term
    const forms = [...term.forms, other.lexeme]
    return toTerm({ word: term.word, forms, documents: other.documents }, total)
  })
  const mended = strange.flatMap((from) => {
    const right = found.get(from)
    if (right === undefined) return []
    const documents = Math.max(...right.map((one) => one.documents))
    const forms = right.map(({ lexeme }) => lexeme)
    return { from, ...toTerm({ word: right[0].word, forms, documents }, total) }
  })
  const corrections = mended.map(({ from, word: to }) => ({ from, to }))
  return {
    words: words.map((word) => corrections.find(({ from }) => from === word)?.to ?? word),
    known: distinct([...sure, ...widened, ...mended]),
    strange: strange.filter((word) => !corrections.some(({ from }) => from === word)),
    corrections,
  }
}

function toTerm({ word, documents, forms }: Omit<KnownTerm, 'weight'>, total: number): KnownTerm {
  const weight = Math.log(1 + Math.max(1, total) / (1 + documents))
  return { word, documents, forms: [...new Set(forms)], weight }
}

function distinct(terms: readonly KnownTerm[]): KnownTerm[] {
  return [...new Map(terms.map((term) => [term.forms.join(' '), term])).values()]
}

export function allOf(terms: readonly KnownTerm[], label = ''): string {
  return terms.map((term) => anyOf(term, label)).join(' & ')
}

/** Builds a tsquery for any form of a term. */
export function anyOf({ forms }: KnownTerm, label = ''): string {
  const quoted = forms.map(
    (form) => `'${form.replaceAll('\\', '\\\\').replaceAll("'", "''")}'${label}`,
  )
  return `(${quoted.join(' | ')})`
}
