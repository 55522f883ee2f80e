import { stopWords } from '../enrich/labels.ts'
import type { AskedWords, Statements } from './question.ts'
import {
  applyMends,
  correctWords,
  findJoined,
  findSplit,
  isOrdinary,
  type Mend,
  misspellings,
} from './spelling.ts'

/** One word of a query as the index knows it. */
export interface KnownTerm {
  /** As it was asked, or put right. */
  readonly word: string
  /** How many pages hold it. */
  readonly documents: number
  /** Every form that counts: as English, and as the language that was asked for. */
  readonly forms: readonly string[]
  /** Rare words tell more. */
  readonly weight: number
}

/** What the index is asked for. */
export interface KnownTerms {
  /** The query with everything put right. */
  readonly words: readonly string[]
  readonly known: readonly KnownTerm[]
  /** Words that no document holds, and that resemble none that any holds: they are left out. */
  readonly strange: readonly string[]
  /** What was put right. */
  readonly mends: readonly Mend[]
}

interface Row {
  readonly word: string
  readonly lexeme: string
  readonly documents: number
  readonly total: number
}

const mostCorrected = 4
// A word of one page, one slip away from a word of many, is most likely that slip, made by its writer too.
const rarely = 1
const often = 30

/** Looks the words of a query up, and puts those right that differ from known ones by one slip. */
export async function readTerms(
  run: Statements,
  question: AskedWords,
  config: string,
): Promise<KnownTerms> {
  const asked = await lookUp(run, question.words, config)
  // Who writes operators means every letter of it.
  if (question.operators !== null) return sortOut(question.words, asked)
  const joined = await findJoined(run, question.words, new Set(sortOut([], asked).strange))
  const words = applyMends(question.words, joined)
  const whole = joined.length === 0 ? asked : await lookUp(run, words, config)
  const terms = await putRight(run, sortOut(words, whole), whole)
  const split = await findSplit(
    run,
    terms.strange.filter((word) => !isOrdinary(word)).slice(0, mostCorrected),
  )
  const mends = [...joined, ...terms.mends]
  if (split.length === 0) return { ...terms, mends }
  const parts = sortOut(
    [],
    await lookUp(
      run,
      split.flatMap(({ to }) => to.split(' ')),
      config,
    ),
  )
  const found = new Set(split.map(({ from }) => from))
  return {
    words: applyMends(terms.words, split),
    known: distinct([...terms.known, ...parts.known]),
    strange: terms.strange.filter((word) => !found.has(word)),
    mends: [...mends, ...split],
  }
}

interface LookedUp {
  readonly byWord: ReadonlyMap<string, readonly Row[]>
  /** Pages that there are. */
  readonly total: number
}

async function lookUp(
  run: Statements,
  words: readonly string[],
  config: string,
): Promise<LookedUp> {
  const rows = await run.rows<Row>({
    name: 'read-terms',
    text: `
      select
        word,
        lexeme,
        coalesce((select documents from lexemes where lexemes.word = lexeme), 0) as documents,
        (select coalesce(sum(documents), 0) from corpora) as total
      from unnest($1::text[]) as given (word)
      cross join lateral unnest(tsvector_to_array(to_tsvector('english', word) || to_tsvector($2::regconfig, word))) as lexeme`,
    values: [words, config],
  })
  const byWord = new Map<string, Row[]>()
  for (const row of rows) byWord.set(row.word, [...(byWord.get(row.word) ?? []), row])
  return { byWord, total: rows[0]?.total ?? 0 }
}

function sortOut(words: readonly string[], { byWord, total }: LookedUp): KnownTerms {
  const known: KnownTerm[] = []
  const strange: string[] = []
  for (const [word, found] of byWord) {
    const forms = found.filter(({ documents }) => documents > 0)
    if (forms.length === 0) strange.push(word)
    else known.push(toTerm(word, forms, total))
  }
  return { words, known: distinct(known), strange, mends: [] }
}

async function putRight(
  run: Statements,
  { words, known, strange }: KnownTerms,
  { byWord, total }: LookedUp,
): Promise<KnownTerms> {
  const rare = known.filter(({ documents }) => documents <= rarely)
  const sure = known.filter(({ documents }) => documents > rarely)
  const wrong = [...strange, ...rare.map(({ word }) => word)]
    .filter((word) => !isOrdinary(word))
    .slice(0, mostCorrected)
  const telling = sure.filter(({ word }) => !stopWords.has(word))
  const titled = allOf(telling, ':A')
  const found = await correctWords(run, wrong, { titled, bold: sure.length > wrong.length })
  const terms = sure.slice()
  for (const term of rare) {
    const [other] = found.get(term.word) ?? []
    const both = other !== undefined && other.documents >= often
    const forms = (byWord.get(term.word) ?? []).filter(({ documents }) => documents > 0)
    terms.push(both ? toTerm(term.word, [...forms, other], total) : term)
    found.delete(term.word)
  }
  for (const [, forms] of found) terms.push(toTerm(forms[0].word, forms, total))
  return {
    words: words.map((word) => found.get(word)?.[0].word ?? word),
    known: distinct(terms),
    strange: strange.filter((word) => !found.has(word) && !isFiller(word)),
    mends: [...found].map(([from, [right]]) => ({ from, to: right.word })),
  }
}

/** `wehn`: a slip in a word that says nothing is no strange word. */
function isFiller(word: string): boolean {
  return [...misspellings(word)].some(([other, chance]) => chance >= 0.5 && stopWords.has(other))
}

function toTerm(
  word: string,
  forms: readonly Pick<Row, 'lexeme' | 'documents'>[],
  total: number,
): KnownTerm {
  const documents = Math.max(...forms.map((form) => form.documents))
  const weight = Math.log(1 + Math.max(1, total) / (1 + documents))
  return { word, documents, forms: [...new Set(forms.map(({ lexeme }) => lexeme))], weight }
}

function distinct(terms: readonly KnownTerm[]): KnownTerm[] {
  return [...new Map(terms.map((term) => [term.forms.join(' '), term])).values()]
}

/** A query for what holds every one of these. */
export function allOf(terms: readonly KnownTerm[], label = ''): string {
  return terms.map((term) => anyOf(term, label)).join(' & ')
}

/** A query for what holds any form of a word. */
export function anyOf({ forms }: KnownTerm, label = ''): string {
  const quoted = forms.map(
    (form) => `'${form.replaceAll('\\', '\\\\').replaceAll("'", "''")}'${label}`,
  )
  return `(${quoted.join(' | ')})`
}
