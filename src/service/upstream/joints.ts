import { eachHead } from './spelled.ts'
import type { Statements } from './statements.ts'

/** A part of the query that was put right: a word, or two that were one, or one that was two. */
export interface Mend {
  readonly from: string
  readonly to: string
}

interface Written {
  readonly word: string
  readonly documents: number
  readonly heads: number
}

type Counts = ReadonlyMap<string, number>

// What one page alone writes is its own slip, or no word at all.
const leastWritten = 2
// Unless it is long, and what that page is called.
const ownWord = 6
const [shortestWhole, shortestPart, longest] = [5, 2, 48]
// Two letters are a word where many pages say so: `to`, `of`, `js`.
const oftenEnough = 30

async function countWritten(run: Statements, words: readonly string[]): Promise<Counts> {
  if (words.length === 0) return new Map()
  const rows = await run.rows<Written>({
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

/** Halves of one word, of which at least one is no word by itself: `anim ation`. */
export async function findJoined(
  run: Statements,
  words: readonly string[],
  strange: ReadonlySet<string>,
): Promise<Mend[]> {
  const pairs = words.slice(1).flatMap((second, index) => {
    const first = words[index] ?? ''
    const whole = first + second
    if (!strange.has(first) && !strange.has(second)) return []
    return whole.length < shortestWhole || whole.length > longest ? [] : [{ first, second, whole }]
  })
  const counts = await countWritten(
    run,
    pairs.map(({ whole }) => whole),
  )
  const mends: Mend[] = []
  let last = ''
  for (const { first, second, whole } of pairs) {
    // A half belongs to one word only.
    if (!counts.has(whole) || first === last) continue
    mends.push({ from: `${first} ${second}`, to: whole })
    last = second
  }
  return mends
}

/** Where a strange word is two known ones without the space between them: the two that are written most. */
export async function findSplit(run: Statements, strange: readonly string[]): Promise<Mend[]> {
  const long = strange.filter(({ length }) => length >= shortestWhole && length <= longest)
  const halves = new Map(long.map((word) => [word, halve(word)]))
  const counts = await countWritten(run, [...halves.values()].flat(2))
  return long.flatMap((from) => {
    const best = (halves.get(from) ?? [])
      .map((pair) => ({ pair, likely: likelihood(pair, counts) }))
      .filter(({ likely }) => likely > 0)
      .toSorted((a, b) => b.likely - a.likely)[0]
    return best === undefined ? [] : [{ from, to: best.pair.join(' ') }]
  })
}

type Halves = readonly [string, string]

function halve(word: string): Halves[] {
  return Array.from({ length: word.length - 2 * shortestPart + 1 }, (_, index) => {
    const at = index + shortestPart
    return [word.slice(0, at), word.slice(at)] as const
  })
}

function likelihood([first, second]: Halves, counts: Counts): number {
  const [one, other] = [counts.get(first) ?? 0, counts.get(second) ?? 0]
  const least = (part: string) => (part.length === shortestPart ? oftenEnough : 1)
  if (one < least(first) || other < least(second)) return 0
  return one * other
}

/** The words of a query with its joints mended. */
export function applyMends(words: readonly string[], mends: readonly Mend[]): string[] {
  const text = mends.reduce(
    (said, { from, to }) => said.replace(` ${from} `, ` ${to} `),
    ` ${words.join(' ')} `,
  )
  return [...new Set(text.trim().split(' '))]
}
