// makeHistories({ seed, queries, nights, mix }) → histories of queries with known changes: stable and volatile ones,
// weekly patterns, seasons, bursts, regime changes, groups with the same results, and shocks that affect many queries.
import { seeded, type Random } from '../../src/base/random.ts'
import type { QueryHistory } from '../../src/features/cadence/replay.ts'

export const kinds = ['stable', 'weekly', 'seasonal', 'burst', 'regime', 'busy', 'flicker'] as const
export type Kind = (typeof kinds)[number]

/** Number of queries of each kind, out of a hundred. */
export type Mix = Readonly<Record<Kind, number>>

const usualMix: Mix = {
  stable: 45,
  weekly: 10,
  seasonal: 10,
  burst: 15,
  regime: 10,
  busy: 10,
  flicker: 0,
}

export interface MadeHistory extends QueryHistory {
  readonly kind: Kind
}

/** 2026-01-01, a Thursday. */
export const firstDay = 20_454

export function makeHistories({
  seed,
  queries,
  nights,
  mix = usualMix,
}: {
  readonly seed: string
  readonly queries: number
  readonly nights: number
  readonly mix?: Mix
}): readonly MadeHistory[] {
  const world = new World(seed, queries, nights)
  return Array.from({ length: queries }, (_, index) => {
    const kind = kindOf(mix, index)
    return { id: `query ${index}`, kind, firstTens: world.live(index, kind) }
  })
}

/** The kinds in turn, so that any range of queries contains the mix. */
function kindOf(mix: Mix, index: number): Kind {
  const total = kinds.reduce((sum, kind) => sum + mix[kind], 0)
  let place = ((index * 61.8) % 100) * (total / 100)
  for (const kind of kinds) {
    if (place < mix[kind]) return kind
    place -= mix[kind]
  }
  return 'stable'
}

const groupSize = 5

/** Shocks are drawn once for all queries, and then each query's nights. */
class World {
  readonly #seed: string
  readonly #nights: number
  /** Nights on which results change everywhere, with the share of affected queries. */
  readonly #updates: ReadonlyMap<number, number>
  /** Nights on which a group's results change; its queries show mostly the same pages. */
  readonly #groupShocks: readonly ReadonlySet<number>[]

  constructor(seed: string, queries: number, nights: number) {
    this.#seed = seed
    this.#nights = nights
    const random = seeded(`${seed} shocks`)
    const updates = new Map<number, number>()
    for (let n = 0; n < nights / 100; n++) {
      const night = 10 + Math.floor(random() * (nights - 12))
      updates.set(night, 0.6)
      updates.set(night + 1, 0.3)
    }
    this.#updates = updates
    this.#groupShocks = Array.from({ length: Math.ceil(queries / groupSize) }, (_, group) => {
      // Every second group changes together.
      if (group % 2 === 1) return new Set<number>()
      return new Set(
        Array.from({ length: nights }, (__, night) => night).filter(() => random() < 1 / 70),
      )
    })
  }

  live(index: number, kind: Kind): QueryHistory['firstTens'] {
    const random = seeded(`${this.#seed} ${index}`)
    const group = Math.floor(index / groupSize)
    const chance = chancesOf(kind, random, this.#nights)
    const shelf = new Shelf(random, { group: group % 2 === 0 ? group : null, index })
    return Array.from({ length: this.#nights }, (_, night) => {
      shelf.rest(night)
      if (night > 0) {
        if (random() < chance(night)) shelf.swap(night, kind === 'flicker' ? 0.9 : 0.1)
        if (this.#groupShocks[group]?.has(night) === true) shelf.swap(night, 0, 2)
        if (random() < (this.#updates.get(night) ?? 0)) shelf.swap(night, 0, 2)
      }
      return { day: firstDay + night, depth: 20, pages: shelf.pages() }
    })
  }
}

/** The probability of a change on each night. */
function chancesOf(kind: Kind, random: Random, nights: number): (night: number) => number {
  const quiet = 1 / (100 + 100 * random())
  const phase = Math.floor(random() * 60)
  switch (kind) {
    case 'stable':
      return () => quiet
    case 'busy':
      return () => 0.6
    case 'flicker':
      return () => 0.6
    case 'weekly':
      return (night) => ((night + phase) % 7 === 0 ? 0.9 : quiet)
    case 'seasonal':
      return (night) => ((night + phase) % 60 < 15 ? 0.5 : quiet)
    case 'burst': {
      const until = burstsOf(random, nights)
      return (night) => (until.has(night) ? 0.8 : quiet)
    }
    case 'regime': {
      const turn = Math.floor(nights * (0.2 + 0.6 * random()))
      const wakes = random() < 0.5
      return (night) => (night >= turn === wakes ? 0.4 : quiet)
    }
    default:
      throw new Error(`unhandled kind ${JSON.stringify(kind satisfies never)}`)
  }
}

/** Some consecutive days, now and then. */
function burstsOf(random: Random, nights: number): ReadonlySet<number> {
  const found = new Set<number>()
  for (let night = 0; night < nights; night++) {
    if (random() >= 1 / 60) continue
    const length = 4 + Math.floor(random() * 6)
    for (let day = 0; day < length; day++) found.add(night + day)
  }
  return found
}

/** Ten pages, and the pages that replace them. */
class Shelf {
  readonly #random: Random
  readonly #index: number
  #next = 100
  #pages: number[]
  /** Changes that are reverted, and when. */
  #returns: { night: number; gone: number; came: number }[] = []

  constructor(random: Random, { group, index }: { group: number | null; index: number }) {
    this.#random = random
    this.#index = index
    this.#pages = Array.from({ length: 10 }, (_, place) =>
      group !== null && place < 6 ? 1_000_000 + group * 10 + place : this.#number(place),
    )
  }

  pages(): readonly number[] {
    return [...this.#pages]
  }

  swap(night: number, passing: number, pages = 1): void {
    for (let n = 0; n < pages; n++) {
      const place = Math.floor(this.#random() * 10)
      const gone = this.#pages[place] ?? 0
      const came = this.#number((this.#next += 1))
      this.#pages[place] = came
      if (this.#random() < passing) {
        this.#returns.push({ night: night + 1 + Math.floor(this.#random() * 3), gone, came })
      }
    }
  }

  rest(night: number): void {
    for (const { gone, came } of this.#returns.filter((one) => one.night <= night)) {
      const place = this.#pages.indexOf(came)
      if (place !== -1) this.#pages[place] = gone
    }
    this.#returns = this.#returns.filter((one) => one.night > night)
  }

  #number(page: number): number {
    return 2_000_000 + this.#index * 10_000 + page
  }
}
