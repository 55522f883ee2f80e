import type { AskedWords } from './question.ts'
import type { Statements } from './statements.ts'
import { misspellings } from './misspelt.ts'

/** One word of a query as the index knows it. */
export interface KnownTerm {
  /** Every form that counts: as English, and as the language that was asked for. */
  readonly forms: readonly string[]
  /** Rare words tell more. */
  readonly weight: number
}

/** What the index is asked for. */
export interface KnownTerms {
  readonly known: readonly KnownTerm[]
  /** Words that no document holds, and that resemble none that any holds. */
  readonly unknown: number
  /** Words that were put right, by what they were put right to. */
  readonly corrected: ReadonlyMap<string, string>
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

/** Looks the words of a query up, and puts those right that differ from a known one by one slip. */
export async function readTerms(
  run: Statements,
  { words, operators }: AskedWords,
  config: string,
): Promise<KnownTerms> {
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
  const total = rows[0]?.total ?? 0
  const byWord = new Map<string, Row[]>()
  for (const row of rows) byWord.set(row.word, [...(byWord.get(row.word) ?? []), row])
  const known: KnownTerm[] = []
  const [strange, rare]: [string[], Map<string, Row[]>] = [[], new Map()]
  for (const [word, found] of byWord) {
    const forms = found.filter(({ documents }) => documents > 0)
    if (forms.length === 0) strange.push(word)
    else if (forms.every(({ documents }) => documents <= rarely)) rare.set(word, forms)
    else known.push(toTerm(forms, total))
  }
  // Who writes operators means every letter of it.
  const wrong = operators === null ? [...strange, ...rare.keys()].slice(0, mostCorrected) : []
  const found = await correct(run, wrong)
  for (const [word, forms] of rare) {
    const other = found.get(word)
    const both = other !== undefined && other.documents >= often ? [...forms, other] : forms
    known.push(toTerm(both, total))
    found.delete(word)
  }
  const corrected = found
  for (const [, form] of corrected) known.push(toTerm([form], total))
  return {
    known: distinct(known),
    unknown: strange.length - corrected.size,
    corrected: new Map([...corrected].map(([word, right]) => [word, right.word])),
  }
}

function toTerm(forms: readonly Pick<Row, 'lexeme' | 'documents'>[], total: number): KnownTerm {
  const documents = Math.max(...forms.map((form) => form.documents))
  const weight = Math.log(1 + Math.max(1, total) / (1 + documents))
  return { forms: [...new Set(forms.map(({ lexeme }) => lexeme))], weight }
}

function distinct(terms: readonly KnownTerm[]): KnownTerm[] {
  return [...new Map(terms.map((term) => [term.forms.join(' '), term])).values()]
}

interface Spelling {
  readonly word: string
  readonly lexeme: string
  readonly documents: number
}

/** The known word one slip away, the commonest of several. */
async function correct(run: Statements, wrong: readonly string[]): Promise<Map<string, Spelling>> {
  const slips = new Map(wrong.map((word) => [word, new Set(misspellings(word))]))
  const every = [...slips.values()].flatMap((set) => [...set])
  if (every.length === 0) return new Map()
  const rows = await run.rows<Spelling>({
    name: 'find-spellings',
    text: `
      select spellings.word, lexemes.word as lexeme, lexemes.documents
      from spellings
      join lexemes on lexemes.word = (tsvector_to_array(to_tsvector('english', spellings.word)))[1]
      where spellings.word = any($1)
        and spellings.documents > 1
      order by spellings.documents desc`,
    values: [every],
  })
  const found = new Map<string, Spelling>()
  for (const [word, set] of slips) {
    const best = rows.find((row) => set.has(row.word))
    if (best !== undefined) found.set(word, best)
  }
  return found
}
