import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { shippedFile, titleAlone } from '../../src/service/corpus/load.ts'
import { fraction, pick, seeded, type Random } from '../../src/base/random.ts'

/** A query with its expected pages, drawn from the titles of the documents by a rule. */
export interface DrawnCase {
  readonly q: string
  readonly right: ReadonlySet<string>
}

/** The queries drawn from one half of the titles. */
export interface Drawn {
  readonly known: readonly DrawnCase[]
  /** The same queries with one typo, by kind. */
  readonly slips: Readonly<Record<SlipKind, readonly DrawnCase[]>>
  /** The same queries together with a word that is in no document. */
  readonly unknown: readonly DrawnCase[]
}

// Rules are developed with one half. The other half is only measured, and its misses are not printed.
export type Half = 'practice' | 'drawn'

const titles = 120
const [fewest, most] = [2, 5]
const longEnough = 4

/**
 * Draws titles of two to five plain words by a seed. Each is searched for unchanged, with one typo of each kind, and
 * together with an unknown word. Every page whose title has the same words is a correct result. No person judges or
 * selects.
 */
export function drawCases(half: Half, taken: ReadonlySet<string>): Drawn {
  const pages = readTitles()
  const known = [...pages]
    .filter(([q]) => !taken.has(q) && fraction(`half of ${q}`) < 0.5 === (half === 'drawn'))
    .toSorted(([a], [b]) => fraction(`drawn ${a}`) - fraction(`drawn ${b}`))
    .slice(0, titles)
    .map(([q, right]) => ({ q, right }))
  const kinds = Object.entries(slipKinds) as [SlipKind, Slip][]
  const slips = kinds.map(([kind, slip]) => [kind, slipAll(known, kind, slip)])
  return {
    known,
    slips: Object.fromEntries(slips) as Record<SlipKind, DrawnCase[]>,
    unknown: known.map(({ q, right }) => ({ q: withStranger(q), right })),
  }
}

function readTitles(): Map<string, Set<string>> {
  const pages = new Map<string, Set<string>>()
  for (const line of gunzipSync(readFileSync(shippedFile)).toString('utf8').trim().split('\n')) {
    const { title, url } = JSON.parse(line) as { readonly title: string; readonly url: string }
    const words = titleAlone(title).toLowerCase().split(' ')
    if (words.length < fewest || words.length > most) continue
    if (!words.every((word) => /^[a-z]{2,}$/.test(word))) continue
    const q = words.join(' ')
    pages.set(q, (pages.get(q) ?? new Set()).add(url))
  }
  return pages
}

/** Returns a word with a typo; null if the typo does not change it. */
type Slip = (word: string, random: Random) => string | null

const rows = ['qwertyuiop', 'asdfghjkl', 'zxcvbnm']

const slipKinds = {
  swapped: (word, random) => {
    const at = place(random, 0, word.length - 2)
    return word.slice(0, at) + word.charAt(at + 1) + word.charAt(at) + word.slice(at + 2)
  },
  doubled: (word, random) => {
    const at = place(random, 0, word.length - 1)
    return word.slice(0, at) + word.charAt(at) + word.slice(at)
  },
  dropped: (word, random) => {
    const at = place(random, 1, word.length - 1)
    return word.slice(0, at) + word.slice(at + 1)
  },
  beheaded: (word) => word.slice(1),
  neighbour: (word, random) => {
    const at = place(random, 0, word.length - 1)
    return word.slice(0, at) + beside(word.charAt(at), random) + word.slice(at + 1)
  },
  added: (word, random) => {
    const at = place(random, 0, word.length - 1)
    return word.slice(0, at + 1) + beside(word.charAt(at), random) + word.slice(at + 1)
  },
  // Handled by `slipAll`: this word and the next one are joined.
  joined: (word) => word,
  split: (word, random) => {
    if (word.length < 6) return null
    const at = place(random, 3, word.length - 3)
    return `${word.slice(0, at)} ${word.slice(at)}`
  },
} satisfies Readonly<Record<string, Slip>>

export type SlipKind = keyof typeof slipKinds

function place(random: Random, least: number, greatest: number): number {
  return least + Math.floor(random() * (greatest - least + 1))
}

function beside(letter: string, random: Random): string {
  const row = rows.find((keys) => keys.includes(letter)) ?? letter
  const at = row.indexOf(letter)
  const others = [row[at - 1], row[at + 1]].filter((key) => key !== undefined)
  return others[Math.floor(random() * others.length)] ?? letter
}

/**
 * Adds one typo to a word of four letters or more of each query that has one. Typos that form another word are kept.
 */
function slipAll(known: readonly DrawnCase[], kind: SlipKind, slip: Slip): DrawnCase[] {
  return known.flatMap(({ q, right }) => {
    const random = seeded(`${kind} ${q}`)
    const words = q.split(' ')
    if (kind === 'joined') {
      const at = place(random, 0, words.length - 2)
      const joined = [...words.slice(0, at), `${words[at]}${words[at + 1]}`, ...words.slice(at + 2)]
      return [{ q: joined.join(' '), right }]
    }
    const places = words.flatMap((word, index) => (word.length >= longEnough ? [index] : []))
    const at = places[Math.floor(random() * places.length)]
    const wrong = at === undefined ? null : slip(words[at] ?? '', random)
    if (at === undefined || wrong === null || wrong === words[at]) return []
    return [{ q: words.with(at, wrong).join(' '), right }]
  })
}

// No document contains any of these words; the test of this file checks this.
export const strangers = [
  'giraffe',
  'grandmother',
  'pancake',
  'broccoli',
  'hedgehog',
  'trombone',
  'umbrella',
  'sandcastle',
  'marmalade',
  'wheelbarrow',
  'kangaroo',
  'cinnamon',
  'lighthouse',
  'dandelion',
  'porcupine',
  'turnip',
] as const

function withStranger(q: string): string {
  const random = seeded(`stranger ${q}`)
  const stranger = pick(random, [...strangers] as [string, ...string[]])
  return random() < 0.5 ? `${stranger} ${q}` : `${q} ${stranger}`
}
