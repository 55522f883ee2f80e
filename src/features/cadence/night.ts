// Decides which queries of a list are bought tonight, from the moves between their answers. All rules are pure functions.

import { createHash } from 'node:crypto'
import { count } from '../../base/cli/text.ts'
import { dayMs, formatDate } from '../../base/time/zone.ts'

export interface KnownQuery {
  readonly id: string
  /** From 0 to 1, constant per query. Prevents similar queries from becoming due on the same night. */
  readonly spread: number
  /** Answers of earlier nights, oldest first, each compared with the previous one. */
  readonly steps: readonly Comparison[]
  /** Newest answer to the query; null if none is known. */
  readonly last: FirstTen | null
  /** The answer before the newest one; null if none is known. */
  readonly before: FirstTen | null
}

export interface CadenceRules {
  readonly list: string
  /** Maximum days between two purchases of a query. */
  readonly longest: number
  /** Maximum cost as a share of the cost of daily buying. */
  readonly share: number
}

/** Half of the cost of daily buying, minus the additional cost of new queries and of queries that are bought early. */
export const usualShare = 0.48

/** A query is bought every night until it has been observed for this many nights. */
const newNights = 5

interface CadenceDecision {
  readonly id: string
  readonly interval: number
  /** First day on which the query is due to be bought. */
  readonly due: number
  /** True if the query could be skipped, but is bought to measure what skipping misses. */
  readonly byChance: boolean
  readonly why: string
}

/** Decides all queries of a list for a night. Deterministic: the same facts always give the same decisions. */
export function decideNight(
  queries: readonly KnownQuery[],
  today: number,
  { list, longest, share }: CadenceRules,
): readonly CadenceDecision[] {
  const paced = queries.map((query) => {
    const watched = query.steps.reduce((sum, { since, day }) => sum + day - since, 0)
    const isNew = query.last === null || watched < newNights
    return { query, isNew, rate: changeRate(query.steps, today), spread: query.spread }
  })
  const limits = { longest, share, chance: chanceShare }
  const patience = patienceFor(
    paced.filter(({ isNew }) => !isNew),
    limits,
  )
  const rested = paced.map((one) => {
    const interval = one.isNew ? 1 : intervalFor(one, patience, longest)
    return rest(one, interval, today)
  })
  const woken = wokenIn(queries, rested, today)
  return rested.map((decision): CadenceDecision => {
    const { id, due } = decision
    if (due <= today) return decision
    if (woken.has(id)) {
      const why = 'a query that shows the same pages moved since this one was asked'
      return { ...decision, interval: 1, due: today, why }
    }
    return { ...decision, byChance: drawnFrom(list, id, String(today)) < chanceShare }
  })
}

/** Determines how long a query may be skipped, based only on its own history. */
function rest(
  { query: { id, steps, last }, rate }: { query: KnownQuery; rate: number },
  interval: number,
  today: number,
): CadenceDecision {
  const byChance = false
  // An answer dated in the future comes from a wrong clock, so it is not used for this night.
  if (last === null || last.day > today) {
    const why = 'no earlier answer is known'
    return { id, interval: 1, due: today, byChance, why }
  }
  const due = Math.max(last.day + interval, today)
  return { id, interval, due, byChance, why: whyOf(steps, rate) }
}

function whyOf(steps: readonly Comparison[], rate: number): string {
  if (steps.length === 0) return 'answered once: its changes are not known yet'
  const seen = steps.filter(({ moves }) => moves > 0).length
  const nights = Math.round(1 / rate)
  const often = nights <= 1 ? 'nearly every night' : `about once in ${nights} nights`
  const changed = seen === 0 ? 'no change' : count(seen, 'change')
  return `${changed} in ${count(steps.length, 'comparison')}: expected to change ${often}`
}

/** Skipped queries to buy early, because another query with the same pages has moved since they were last bought. */
function wokenIn(
  queries: readonly KnownQuery[],
  decisions: readonly CadenceDecision[],
  today: number,
): ReadonlySet<string> {
  const resting = new Set(decisions.filter(({ due }) => due > today).map(({ id }) => id))
  const sleepers = queries.filter(({ id, last }) => last !== null && resting.has(id))
  const asked = new Map(sleepers.map(({ id, last }) => [id, last?.day ?? today]))
  const nearTo = openShelves(sleepers.map(({ id, last }) => ({ id, pages: last?.pages ?? [] })))
  const woken = new Set<string>()
  for (const { id, steps, last, before } of queries) {
    const step = steps.at(-1)
    if (step === undefined || step.moves === 0 || step.day !== last?.day) continue
    for (const other of nearTo({ id, pages: before?.pages ?? [] })) {
      if ((asked.get(other) ?? today) < step.day) woken.add(other)
    }
  }
  return woken
}

/** A query with its expected number of changes per night. */
interface Paced {
  readonly rate: number
  /** From 0 to 1, constant per query: determines whether its interval is rounded up or down. */
  readonly spread: number
}

/** Limits on intervals and on the share of daily buying. */
interface PaceLimits {
  readonly longest: number
  readonly share: number
  /** Share of skipped queries sampled each night. */
  readonly chance: number
}

/** Minimum patience. With it, a query with one change in a hundred nights waits three or four nights. */
const leastPatience = 0.75

/**
 * Nights between two purchases: patience divided by the cube root of the changes per night. For a given number of
 * purchases, this minimizes the sum of squared delays over all changes; eight times as many changes halve the interval.
 */
function intervalFor({ rate, spread }: Paced, patience: number, longest: number): number {
  const nights = Math.floor(patience / Math.cbrt(rate) + spread)
  return Math.min(Math.max(nights, 1), Math.max(longest, 1))
}

/** Finds the smallest patience that keeps all queries of a list within its share of daily buying. */
function patienceFor(queries: readonly Paced[], { longest, share, chance }: PaceLimits): number {
  const allowed = share * queries.length
  const cost = (patience: number) =>
    queries.reduce((sum, query) => {
      const asked = 1 / intervalFor(query, patience, longest)
      return sum + asked + chance * (1 - asked)
    }, 0)
  if (cost(leastPatience) <= allowed) return leastPatience
  let below = leastPatience
  // With this patience, the most volatile query already has the longest interval, so a higher patience saves nothing.
  const mostRestless = queries.reduce((most, { rate }) => Math.max(most, rate), 0)
  let above = longest * Math.max(1, Math.cbrt(mostRestless))
  for (let halving = 0; halving < 20; halving++) {
    const middle = (below + above) / 2
    if (cost(middle) <= allowed) above = middle
    else below = middle
  }
  return above
}

/** Prior for a query without history: half a change in two nights. */
const first = { changes: 0.5, nights: 2 }
/** Half-lives in nights of the weights, for the long-term and the current rate. */
const halfLives = { usual: 28, now: 3 }
/**
 * Weight of the long-term rate, in nights of the current rate. One change shortens the interval of a stable query, and
 * a few stable nights lengthen it again.
 */
const trust = 4

/**
 * Expected changes per night: observed changes divided by observed nights, weighted toward recent ones. Takes the
 * higher of the long-term and current rates, because a burst or a new regime starts with one change.
 */
function changeRate(steps: readonly Comparison[], today: number): number {
  const usual = estimate(steps, today, { ...first, halfLife: halfLives.usual })
  const before = { changes: usual * trust, nights: trust }
  return Math.max(usual, estimate(steps, today, { ...before, halfLife: halfLives.now }))
}

/** Mean of a Gamma distribution: the prior plus the observed changes and nights. */
function estimate(
  steps: readonly Comparison[],
  today: number,
  { changes, nights, halfLife }: { changes: number; nights: number; halfLife: number },
): number {
  const weightOf = (day: number) => 2 ** ((day - today) / halfLife)
  let seen = changes
  let watched = nights
  for (const { since, day, moves } of steps) {
    const last = weightOf(day)
    if (moves > 0) seen += last
    // Adds the weights of all nights after the previous answer, up to this one.
    watched += (last - weightOf(since)) / (1 - 2 ** (-1 / halfLife))
  }
  return seen / watched
}

/** Minimum number of shared top-ten pages for two queries to be related. */
const leastShared = 4
/** A page in more answers than this does not relate queries; a home page, for example, is in all of them. */
const mostAnswers = 50

/** A query with the pages of its top ten. */
interface Shelf {
  readonly id: string
  readonly pages: readonly number[]
}

/** Returns a function that finds queries that have at least four top-ten pages in common with a given query. */
function openShelves(shelves: readonly Shelf[]): (shelf: Shelf) => readonly string[] {
  const holders = new Map<number, string[]>()
  for (const { id, pages } of shelves) {
    for (const page of new Set(pages)) {
      const there = holders.get(page)
      if (there === undefined) holders.set(page, [id])
      else there.push(id)
    }
  }
  return ({ id, pages }) => {
    const shared = new Map<string, number>()
    for (const page of new Set(pages)) {
      const there = holders.get(page) ?? []
      if (there.length > mostAnswers) continue
      for (const other of there) shared.set(other, (shared.get(other) ?? 0) + 1)
    }
    shared.delete(id)
    return [...shared].filter(([, inCommon]) => inCommon >= leastShared).map(([other]) => other)
  }
}

/** Share of skipped queries bought every night, to measure what skipping misses. */
const chanceShare = 0.05

/** Pseudo-random number from 0 to 1, determined by the words. */
export function drawnFrom(...words: readonly string[]): number {
  const bytes = createHash('sha256').update(JSON.stringify(words)).digest()
  return bytes.readUInt32BE(0) / 2 ** 32
}

/** Top ten of a query's answer on one night. Nights are days since 1970-01-01: calendar dates, not instants. */
export interface FirstTen {
  readonly day: number
  /** Highest position in the answer; nothing is known below it. */
  readonly depth: number
  /** Pages at positions 1 to 10, best first, each represented by a number. */
  readonly pages: readonly number[]
}

/** Two consecutive answers to one query, with the number of pages that entered or left the top ten in between. */
export interface Comparison {
  readonly since: number
  readonly day: number
  readonly moves: number
}

const firsts = 10

/** Pages that entered or left the top ten, down to the depth of both answers; null if they can't be compared. */
export function movesBetween(
  before: FirstTen,
  after: FirstTen,
): { readonly entered: readonly number[]; readonly left: readonly number[] } | null {
  const places = Math.min(firsts, before.depth, after.depth)
  if (places < 1) return null
  // Usually nothing has changed.
  if (before.pages === after.pages) return { entered: [], left: [] }
  const old = reaching(before, places)
  const now = reaching(after, places)
  return {
    entered: now.filter((page, place) => !old.includes(page) && now.indexOf(page) === place),
    left: old.filter((page, place) => !now.includes(page) && old.indexOf(page) === place),
  }
}

function reaching({ pages }: FirstTen, places: number): readonly number[] {
  // Ten positions may contain eleven pages if two pages share a position.
  return places < firsts ? pages.slice(0, places) : pages
}

/** Compares two answers; null if they can't be compared. */
export function stepBetween(before: FirstTen, after: FirstTen): Comparison | null {
  const moves = movesBetween(before, after)
  if (moves === null) return null
  return { since: before.day, day: after.day, moves: moves.entered.length + moves.left.length }
}

export function dateOf(day: number): string {
  return formatDate(day * dayMs)
}

/** Unpacks answers from the database; consecutive ones with the same pages share an array. */
export function unpackFirstTens(packed: Buffer): readonly FirstTen[] {
  const firstTens: FirstTen[] = []
  let before = { from: 0, to: 0, pages: [] as readonly number[] }
  for (let at = 0; at < packed.length;) {
    const day = packed.readInt32BE(at)
    const depth = packed.readInt16BE(at + 4)
    const from = at + 8
    const to = from + 4 * packed.readInt16BE(at + 6)
    if (packed.compare(packed, from, to, before.from, before.to) !== 0) {
      before = { from, to, pages: unpackPages(packed, from, to) }
    }
    firstTens.push({ day, depth, pages: before.pages })
    at = to
  }
  return firstTens
}

function unpackPages(packed: Buffer, from: number, to: number): readonly number[] {
  const pages: number[] = []
  for (let at = from; at < to; at += 4) pages.push(packed.readInt32BE(at))
  return pages
}
