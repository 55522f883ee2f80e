// A simulated API whose results change a little each night, with twelve kinds of bad nights.
export type Random = () => number
export type Pages = readonly number[]

/** A night's results for each query: null if the query failed, an empty list if its answer is empty. */
export type Answers = (Pages | null)[]

export const pick = (random: Random, many: number) => Math.floor(random() * many)

/** The true results of some queries: each night a few neighbours swap positions, and now and then a page enters. */
export class World {
  readonly days: Pages[][] = []
  readonly #now: number[][]
  readonly #random: Random
  readonly #restless: number
  #made = 1_000_000

  constructor(random: Random, queries: number, restless: number) {
    this.#random = random
    this.#restless = restless
    this.#now = Array.from({ length: queries }, (_, query) =>
      Array.from({ length: 20 }, (_page, place) => query * 100 + place),
    )
    this.#keep()
  }

  get truth(): Pages[] {
    return this.days.at(-1) ?? []
  }

  turn(): void {
    const random = this.#random
    for (const pages of this.#now) {
      if (random() >= this.#restless) continue
      const at = pick(random, 18)
      const [a = 0, b = 0] = pages.slice(at, at + 2)
      pages.splice(at, 2, b, a)
      if (random() >= 0.2) continue
      this.#made += 1
      pages.splice(pick(random, 10), 0, this.#made)
      pages.pop()
    }
    this.#keep()
  }

  #keep(): void {
    this.days.push(this.#now.map((pages) => [...pages]))
  }
}

function shuffled<T>(random: Random, items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, key: random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item)
}

export interface Told {
  readonly answers: Answers
  readonly hours?: number
  readonly price?: number
  readonly unreadable?: number
}

/** Twelve kinds of bad nights: the API's answers in place of the true ones. */
export const faults: Readonly<Record<string, (world: World, random: Random) => Told>> = {
  'the same pages for all': ({ truth }) => ({
    answers: truth.map(() => Array.from({ length: 10 }, (_, place) => 900_000 + place)),
  }),
  'shuffled answers': ({ truth }, random) => ({
    answers: truth.map((pages) => shuffled(random, pages)),
  }),
  'another country': ({ truth }) => ({
    answers: truth.map((pages) => pages.map((page) => page + 500_000)),
  }),
  'copies of last week': ({ days }) => ({ answers: days.at(-8)?.map((pages) => [...pages]) ?? [] }),
  'a tenth of the depth': ({ truth }) => ({ answers: truth.map((pages) => pages.slice(0, 2)) }),
  empty: ({ truth }) => ({ answers: truth.map(() => []) }),
  'half failed': ({ truth }, random) => ({
    answers: truth.map((pages) => (random() < 0.5 ? null : pages)),
  }),
  'ads in place of results': ({ truth }, random) => ({
    answers: truth.map(() =>
      shuffled(
        random,
        Array.from({ length: 14 }, (_, ad) => 700_000 + ad),
      ),
    ),
  }),
  duplicates: ({ truth }) => ({
    answers: truth.map((pages) =>
      pages.map((page, place) => (place < 10 ? (pages[place % 3] ?? 0) : page)),
    ),
  }),
  'another query': ({ truth }) => ({ answers: truth.map(() => null), unreadable: truth.length }),
  slow: ({ truth }) => ({ answers: [...truth], hours: 9 }),
  'a new price': ({ truth }) => ({ answers: [...truth], price: 4 }),
}
/** Nights with these faults are odd, but their ranks are true. */
export const harmless = ['slow', 'a new price']
