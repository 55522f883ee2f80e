// Decides which queries of a list are asked tonight: pure rules.

import { createHash } from 'node:crypto'
import { count } from '../../base/cli/text.ts'
import type { Comparison, FirstTen } from './comparison.ts'

export interface KnownQuery {
  readonly id: string
  /** From 0 to 1, always the same for a query: equals do not all come due in one night. */
  readonly spread: number
  /** Its answers of the nights before, the oldest first, each beside the one before it. */
  readonly steps: readonly Comparison[]
  /** Its newest answer; null: nobody knows one. */
  readonly last: FirstTen | null
  /** The answer before that; null: nobody knows one. */
  readonly before: FirstTen | null
}

export interface CadenceRules {
  readonly list: string
  /** Most days between two askings. */
  readonly longest: number
  /** Most that it may cost, as a share of daily asking. */
  readonly share: number
}

/** Half of daily asking, less what queries that are new or were woken come to on top. */
export const usualShare = 0.48

/** A query is asked every night until it was watched for so many. */
const newNights = 5

interface CadenceDecision {
  readonly id: string
  readonly interval: number
  /** The day from which on it is to be asked. */
  readonly due: number
  /** True: it could rest, and is asked so that what is missed is measured. */
  readonly byChance: boolean
  readonly why: string
}

/** Decides for every query of a list before a night: the same facts always give the same decisions. */
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

/** How long a query may rest by its own history alone. */
function rest(
  { query: { id, steps, last }, rate }: { query: KnownQuery; rate: number },
  interval: number,
  today: number,
): CadenceDecision {
  const byChance = false
  // An answer of a day that is still to come was dated by a clock that was wrong: it tells nothing of tonight.
  if (last === null || last.day > today) {
    const why = 'no answer of the nights before is known'
    return { id, interval: 1, due: today, byChance, why }
  }
  const due = Math.max(last.day + interval, today)
  return { id, interval, due, byChance, why: whyOf(steps, rate) }
}

function whyOf(steps: readonly Comparison[], rate: number): string {
  if (steps.length === 0) return 'answered once: nothing is known of its changes yet'
  const seen = steps.filter(({ moves }) => moves > 0).length
  const nights = Math.round(1 / rate)
  const often = nights <= 1 ? 'nearly every night' : `about once in ${nights} nights`
  const changed = seen === 0 ? 'no change' : count(seen, 'change')
  return `${changed} in ${count(steps.length, 'comparison')}: expected to change ${often}`
}

/** Resting queries of which another that shows the same pages has moved since they were asked. */
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

/** A query with the changes a night that are expected of it. */
interface Paced {
  readonly rate: number
  /** From 0 to 1, always the same for a query: where others of its rate are rounded down, it may be rounded up. */
  readonly spread: number
}

/** Which intervals there may be, and how much of daily asking they may cost. */
interface PaceLimits {
  readonly longest: number
  readonly share: number
  /** Share of the sleeping that is asked by chance each night. */
  readonly chance: number
}

/** Where there is money enough a query waits no longer than this: one change in a hundred nights is waited for three or four. */
const leastPatience = 0.75

/**
 * Nights between two askings: patience by the cube root of the changes a night. Of all ways to spread so many askings
 * over queries this one makes the sum of squared waits of all changes least: eight times as many changes halve the wait.
 */
function intervalFor({ rate, spread }: Paced, patience: number, longest: number): number {
  const nights = Math.floor(patience / Math.cbrt(rate) + spread)
  return Math.min(Math.max(nights, 1), Math.max(longest, 1))
}

/** One patience for all queries of a list: as little as keeps it within its share of daily asking. */
function patienceFor(queries: readonly Paced[], { longest, share, chance }: PaceLimits): number {
  const allowed = share * queries.length
  const cost = (patience: number) =>
    queries.reduce((sum, query) => {
      const asked = 1 / intervalFor(query, patience, longest)
      return sum + asked + chance * (1 - asked)
    }, 0)
  if (cost(leastPatience) <= allowed) return leastPatience
  let below = leastPatience
  // With this patience the most restless query waits as long as any may: nothing costs less.
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
/** After so many nights a night counts half: in what is usual, and in what is so just now. */
const halfLives = { usual: 28, now: 3 }
/** How many nights of now the usual weighs: one change wakes a quiet query, some quiet nights let it sleep again. */
const trust = 4

/**
 * Changes a night, as expected of the nights to come: changes seen by nights watched, newer ones weighing more. The
 * greater of what is usual and what is so just now, since a burst or a new regime begins with one change.
 */
function changeRate(steps: readonly Comparison[], today: number): number {
  const usual = estimate(steps, today, { ...first, halfLife: halfLives.usual })
  const before = { changes: usual * trust, nights: trust }
  return Math.max(usual, estimate(steps, today, { ...before, halfLife: halfLives.now }))
}

/** The mean of a Gamma distribution: what was believed before, and on top of it what was seen and how long was watched. */
function estimate(
  steps: readonly Comparison[],
  today: number,
  { changes, nights, halfLife }: { changes: number; nights: number; halfLife: number },
): number {
  const weights = weightsOf(halfLife)
  let seen = changes
  let watched = nights
  for (const { since, day, moves } of steps) {
    const last = weights[today - day] ?? 0
    if (moves > 0) seen += last
    // The weights of all nights after the answer before, up to this one.
    watched += (last - (weights[today - since] ?? 0)) / (1 - 2 ** (-1 / halfLife))
  }
  return seen / watched
}

const kept = new Map<number, readonly number[]>()

/** Weight of a night by its age in nights; nothing after three years. */
function weightsOf(halfLife: number): readonly number[] {
  const known = kept.get(halfLife)
  if (known !== undefined) return known
  const weights = Array.from({ length: 1100 }, (_, ago) => 2 ** (-ago / halfLife))
  kept.set(halfLife, weights)
  return weights
}

/** Pages of the first ten that two queries share when what moves one is news of the other. */
const leastShared = 4
/** A page in more answers than these ties nothing together: a home page is everywhere. */
const mostAnswers = 50

/** A query with the pages of its first ten. */
interface Shelf {
  readonly id: string
  readonly pages: readonly number[]
}

/** Finds, among some queries, those that show the same results as another: at least four pages of the first ten. */
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

/** Share of the sleeping that is asked every night: what is missed is measured, not believed. */
const chanceShare = 0.05

/** From 0 to 1, the same for the same words whoever asks, wherever and however often. */
export function drawnFrom(...words: readonly string[]): number {
  const bytes = createHash('sha256').update(JSON.stringify(words)).digest()
  return bytes.readUInt32BE(0) / 2 ** 32
}
