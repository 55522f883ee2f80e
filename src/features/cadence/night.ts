// Decides which of a list's queries are bought tonight, based on the differences between their answers.

import { createHash } from 'node:crypto'
import { count } from '../../base/cli/text.ts'
import { groupBy } from '../../base/query.ts'
import { dayMs, formatDate } from '../../base/time/zone.ts'

export interface KnownQuery {
  readonly id: string
  /** Constant (0 to 1) added to the interval before rounding, so that similar queries are due on different nights. */
  readonly spread: number
  /** Comparisons of each earlier answer with the answer before it, oldest first. */
  readonly steps: readonly Comparison[]
  readonly last: FirstTen | null
  readonly before: FirstTen | null
}

export interface CadenceRules {
  readonly list: string
  /** Maximum number of days between two purchases of the same query. */
  readonly longest: number
  readonly share: number
}

/** Usual maximum cost relative to daily buying: half, less a margin for queries that are new or bought early. */
export const usualShare = 0.48

/** Number of nights on which a new query is always bought before it may be skipped. */
const newNights = 5

interface CadenceDecision {
  readonly id: string
  readonly interval: number
  /** First day on which the query is due to be bought. */
  readonly due: number
  /** True if the query could be skipped, but is bought as part of a sample that measures missed moves. */
  readonly byChance: boolean
  readonly why: string
}

/** Decides which queries are bought on a night. The same input always leads to the same decisions. */
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
  const patience = patienceFor(
    paced.filter(({ isNew }) => !isNew),
    { longest, share },
  )
  const rested = paced.map((one) =>
    rest(one, one.isNew ? 1 : intervalFor(one, patience, longest), today),
  )
  const woken = wokenIn(queries, rested, today)
  return rested.map((decision): CadenceDecision => {
    const { id, due } = decision
    if (due <= today) return decision
    if (woken.has(id)) {
      const why = 'the answers to a related query have changed since this query was asked'
      return { ...decision, interval: 1, due: today, why }
    }
    return { ...decision, byChance: drawnFrom(list, id, String(today)) < chanceShare }
  })
}

/** Determines how long a query may be skipped, based only on the query's history. */
function rest(
  { query: { id, steps, last }, rate }: { query: KnownQuery; rate: number },
  interval: number,
  today: number,
): CadenceDecision {
  const decision = { id, interval, due: today, byChance: false }
  // An answer dated in the future comes from a host with an incorrect clock, so it is ignored.
  if (last === null || last.day > today) {
    return { ...decision, interval: 1, why: 'no earlier answer is known' }
  }
  return { ...decision, due: Math.max(last.day + interval, today), why: whyOf(steps, rate) }
}

function whyOf(steps: readonly Comparison[], rate: number): string {
  if (steps.length === 0) return 'answered only once, so no changes are known yet'
  const seen = steps.filter(({ moves }) => moves > 0).length
  const nights = Math.round(1 / rate)
  const often = nights <= 1 ? 'nearly every night' : `about once in ${nights} nights`
  const changed = seen === 0 ? 'no change' : count(seen, 'change')
  return `${changed} in ${count(steps.length, 'comparison')}: expected to change ${often}`
}

/** Finds skipped queries to buy early: since their last answer, pages of a related query have moved. */
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

interface Paced extends Pick<KnownQuery, 'spread'> {
  readonly rate: number
}

/** At this minimum, a query that changes once in a hundred nights is bought every three or four nights. */
const leastPatience = 0.75

/**
 * Number of nights between two purchases: patience divided by the cube root of the changes per night. For a given
 * number of purchases, this rule minimizes the sum of the squared delays of all changes.
 */
function intervalFor({ rate, spread }: Paced, patience: number, longest: number): number {
  const nights = Math.floor(patience / Math.cbrt(rate) + spread)
  return Math.min(Math.max(nights, 1), Math.max(longest, 1))
}

/** Finds the lowest patience that limits a list's purchases to the allowed share of daily buying. */
function patienceFor(
  queries: readonly Paced[],
  { longest, share }: Pick<CadenceRules, 'longest' | 'share'>,
): number {
  const allowed = share * queries.length
  const cost = (patience: number) =>
    queries.reduce((sum, query) => {
      const asked = 1 / intervalFor(query, patience, longest)
      return sum + asked + chanceShare * (1 - asked)
    }, 0)
  if (cost(leastPatience) <= allowed) return leastPatience
  let below = leastPatience
  // With this patience, even the query that changes most often has the longest interval.
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
/** Half-lives, in nights, of the weights for the long-term rate (`usual`) and the current rate (`now`). */
const halfLives = { usual: 28, now: 3 }
/** Weight of the long-term rate, in nights. One change shortens an interval, and a few stable nights lengthen it. */
const trust = 4

/**
 * Estimates the changes per night, with more weight on recent nights. Returns the higher of the long-term and the
 * current rate, because a series of changes starts with a single change.
 */
function changeRate(steps: readonly Comparison[], today: number): number {
  const usual = estimate(steps, today, { ...first, halfLife: halfLives.usual })
  const before = { changes: usual * trust, nights: trust }
  return Math.max(usual, estimate(steps, today, { ...before, halfLife: halfLives.now }))
}

/** Computes the mean of a Gamma distribution from the prior and the observed changes and nights. */
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
    // Adds the weights of the nights since the previous answer, including the night of this answer.
    watched += (last - weightOf(since)) / (1 - 2 ** (-1 / halfLife))
  }
  return seen / watched
}

/** Minimum number of shared top-ten pages for two queries to be related. */
const leastShared = 4
/** Pages that appear in more answers than this, such as home pages, do not make queries related. */
const mostAnswers = 50

interface Shelf {
  readonly id: string
  readonly pages: readonly number[]
}

/** Returns a function that finds the queries that share at least four top-ten pages with a given query. */
function openShelves(shelves: readonly Shelf[]): (shelf: Shelf) => readonly string[] {
  const holders = groupBy(
    shelves.flatMap(({ id, pages }) => [...new Set(pages)].map((page) => ({ id, page }))),
    ({ page }) => page,
  )
  return ({ id, pages }) => {
    const shared = new Map<string, number>()
    for (const page of new Set(pages)) {
      const there = holders.get(page) ?? []
      if (there.length > mostAnswers) continue
      for (const { id: other } of there) shared.set(other, (shared.get(other) ?? 0) + 1)
    }
    shared.delete(id)
    return [...shared].filter(([, inCommon]) => inCommon >= leastShared).map(([other]) => other)
  }
}

/** Fraction of skippable queries in the nightly sample, from which the number of missed moves is estimated. */
const chanceShare = 0.05

/** Computes a pseudo-random number from 0 to 1 that depends only on the words. */
export function drawnFrom(...words: readonly string[]): number {
  const bytes = createHash('sha256').update(JSON.stringify(words)).digest()
  return bytes.readUInt32BE(0) / 2 ** 32
}

/** Top ten of a query's answer on one night. */
export interface FirstTen {
  /** Date of the night, in days since 1970-01-01. */
  readonly day: number
  /** Last position in the answer. Nothing is known about pages below this position. */
  readonly depth: number
  /** Pages at positions 1 to 10, best first, each represented by a number. */
  readonly pages: readonly number[]
}

/** Two consecutive answers to one query, with the number of pages that entered or left the top ten. */
type Comparison = NonNullable<ReturnType<typeof stepBetween>>

const firsts = 10

/** Pages that entered or left the top ten, within the depth of both answers; null if the answers can't be compared. */
export function movesBetween(before: FirstTen, after: FirstTen) {
  const places = Math.min(firsts, before.depth, after.depth)
  if (places < 1) return null
  // Usually, the pages are unchanged, and both answers share one array.
  if (before.pages === after.pages) return { entered: [], left: [] }
  // Ten positions may contain eleven pages if two pages share a position.
  const end = places < firsts ? places : Infinity
  const [old, now] = [before.pages.slice(0, end), after.pages.slice(0, end)]
  return {
    entered: now.filter((page, place) => !old.includes(page) && now.indexOf(page) === place),
    left: old.filter((page, place) => !now.includes(page) && old.indexOf(page) === place),
  }
}

export function stepBetween(before: FirstTen, after: FirstTen) {
  const moves = movesBetween(before, after)
  if (moves === null) return null
  return { since: before.day, day: after.day, moves: moves.entered.length + moves.left.length }
}

export function dateOf(day: number): string {
  return formatDate(day * dayMs)
}

/** Unpacks answers from the database. Consecutive answers with the same pages share one array. */
export function unpackFirstTens(packed: Buffer): readonly FirstTen[] {
  const firstTens: FirstTen[] = []
  let before = { from: 0, to: 0, pages: [] as readonly number[] }
  for (let at = 0; at < packed.length;) {
    const day = packed.readInt32BE(at)
    const depth = packed.readInt16BE(at + 4)
    const from = at + 8
    const to = from + 4 * packed.readInt16BE(at + 6)
    if (packed.compare(packed, from, to, before.from, before.to) !== 0) {
      const pages = Array.from({ length: (to - from) / 4 }, (_, nth) =>
        packed.readInt32BE(from + 4 * nth),
      )
      before = { from, to, pages }
    }
    firstTens.push({ day, depth, pages: before.pages })
    at = to
  }
  return firstTens
}
