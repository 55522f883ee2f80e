import { misspellings } from './misspelt.ts'
import type { Statements } from './statements.ts'

/** A word that documents hold. */
export interface Spelling {
  readonly word: string
  readonly lexeme: string
  readonly documents: number
  readonly written: number
  readonly heads: number
}

export type Spellings = readonly [Spelling, ...Spelling[]]

/** What the rest of the query says about a word with a slip in it. */
export interface Companions {
  /** The other words, as a query for titles that hold them all; empty where there are none. */
  readonly titled: string
  /** True where more words are known than not: then a short one is most likely a word, too. */
  readonly bold: boolean
}

/** A word of titles is asked for more often than one that only texts hold. */
export const eachHead = 5
// What is nearly as likely as the best is looked for beside it: the other words of the query decide.
const nearly = 0.6
// Words that are written nowhere in this form, but with another ending.
const otherEnding = 0.5
// A title that holds a word beside all the others makes it that much likelier; of so many it is asked.
const [agreement, mostLikely] = [2, 6]

interface Likely extends Spelling {
  readonly chance: number
  /** True where the word is so short that chance alone would find something. */
  readonly daring: boolean
}

/** The known words one slip away: common, easily mistyped so, and at home beside the other words; the likeliest first. */
export async function correctWords(
  run: Statements,
  wrong: readonly string[],
  beside: Companions,
): Promise<Map<string, Spellings>> {
  const likely = await findLikely(run, wrong, beside)
  const agreed = await findAgreed(run, likely, beside)
  const found = new Map<string, Spellings>()
  for (const [word, others] of likely) {
    const [best, second] = others
      .filter(({ lexeme, daring }) => !daring || agreed.has(lexeme))
      .map((one) => (agreed.has(one.lexeme) ? { ...one, chance: agreement * one.chance } : one))
      .toSorted((a, b) => b.chance - a.chance)
    if (best === undefined) continue
    const both = second !== undefined && second.chance >= nearly * best.chance
    found.set(word, both ? [best, second] : [best])
  }
  return found
}

async function findLikely(
  run: Statements,
  wrong: readonly string[],
  { titled, bold }: Companions,
): Promise<Map<string, Likely[]>> {
  const slips = wrong.map((word) => ({
    word,
    others: misspellings(word, { bold: bold || titled !== '' }),
    certain: bold ? null : misspellings(word),
  }))
  const rows = await findWritten(
    run,
    slips.flatMap(({ others }) => [...others.keys()]),
    bold,
  )
  return new Map(
    slips.map(({ word, others, certain }) => [
      word,
      rows
        .filter((row) => others.has(row.word))
        .map((row) => ({
          ...row,
          chance: (others.get(row.word) ?? 0) * howCommon(row),
          daring: certain !== null && !certain.has(row.word),
        }))
        .toSorted((a, b) => b.chance - a.chance)
        .slice(0, mostLikely),
    ]),
  )
}

function howCommon({ written, heads, documents }: Spelling): number {
  return written > 1
    ? Math.log(1 + written + eachHead * heads)
    : otherEnding * Math.log(1 + documents)
}

async function findWritten(
  run: Statements,
  every: readonly string[],
  bold: boolean,
): Promise<Spelling[]> {
  if (every.length === 0) return []
  return await run.rows<Spelling>({
    name: 'find-spellings',
    text: `
      select
        given.word,
        lexemes.word as lexeme,
        lexemes.documents,
        coalesce(spellings.documents, 0) as written,
        coalesce(spellings.heads, 0) as heads
      from unnest($1::text[]) as given (word)
      join lexemes on lexemes.word = (tsvector_to_array(to_tsvector('english', given.word)))[1]
      left join spellings on spellings.word = given.word
      where lexemes.documents > 1
        and (spellings.documents > 1 or $2 and length(given.word) > greatest(6, length(lexemes.word) + 1))
      order by lexemes.documents desc, given.word`,
    values: [every, bold],
  })
}

/** The words among these that stand in one title with all the others of the query. */
async function findAgreed(
  run: Statements,
  likely: ReadonlyMap<string, readonly Likely[]>,
  { titled }: Companions,
): Promise<Set<string>> {
  const lexemes = [...new Set([...likely.values()].flat().map(({ lexeme }) => lexeme))]
  if (titled === '' || lexemes.length === 0) return new Set()
  const rows = await run.rows<{ lexeme: string }>({
    name: 'find-agreed',
    text: `
      select lexeme
      from unnest($1::text[]) as given (lexeme)
      where exists (
        select from documents where tsv @@ (quote_literal(lexeme) || ':A & ' || $2)::tsquery
      )`,
    values: [lexemes, titled],
  })
  return new Set(rows.map(({ lexeme }) => lexeme))
}
