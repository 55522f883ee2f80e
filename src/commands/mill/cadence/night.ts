import { count } from '../../../shared/terminal/wording.ts'
import { chanceShare, drawn } from './chance.ts'
import { intervalFor, patienceFor } from './interval.ts'
import { openShelves } from './near.ts'
import { changeRate } from './rate.ts'
import type { FirstTen, Comparison } from './sight.ts'

/** What is known of a query before a night. */
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

/** How a list is asked. */
export interface CadenceRules {
  readonly list: string
  /** Most days between two askings. */
  readonly longest: number
  /** Most that it may cost, as a share of daily asking. */
  readonly share: number
}

/** Half of daily asking, less what queries that are new or were woken come to on top. */
export const usualShare = 0.48

/** No query rests longer, unless a schedule says so. */
export const usualLongestDays = 14

/** A query is asked every night until it was watched for so many. */
const newNights = 5

/** When a query is asked next, and why. */
export interface CadenceDecision {
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
    const isNew = query.last === null || nightsWatched(query.steps) < newNights
    return { query, isNew, rate: changeRate(query.steps, today), spread: query.spread }
  })
  const limits = { longest, share, chance: chanceShare }
  const patience = patienceFor(
    paced.filter(({ isNew }) => !isNew),
    limits,
  )
  const rested = paced.map((one) => {
    return rest(one, one.isNew ? 1 : intervalFor(one, patience, longest), today)
  })
  const woken = wokenIn(queries, rested, today)
  return rested.map((decision): CadenceDecision => {
    const { id, due } = decision
    if (due <= today) return decision
    if (woken.has(id)) {
      const why = 'a query that shows the same pages moved since this one was asked'
      return { ...decision, interval: 1, due: today, why }
    }
    return { ...decision, byChance: drawn(list, id, String(today)) < chanceShare }
  })
}

function nightsWatched(steps: readonly Comparison[]): number {
  return steps.reduce((sum, { since, day }) => sum + day - since, 0)
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
    return { id, interval: 1, due: today, byChance, why: 'no answer of the nights before is known' }
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
