import { count } from '../../../shared/terminal/wording.ts'
import { chanceShare, drawn } from './chance.ts'
import { intervalFor, patienceFor } from './interval.ts'
import { openShelves } from './near.ts'
import { changeRate } from './rate.ts'
import type { FirstTen, Comparison } from './sight.ts'
import { findLenders, type Lender, type WatchedQuery } from './twins.ts'

/** What is known of a query before a night. */
export interface KnownQuery extends WatchedQuery {
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
  /** True: a query may be lent the answer of another whose answers have been the same for long. */
  readonly lends?: boolean
}

/** Half of daily asking, less what queries that are new or were woken come to on top. */
export const usualShare = 0.48

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
  /** The query whose answer it is lent while it rests; null: its own last one is all there is. */
  readonly lentBy: string | null
  readonly why: string
}

/** Decides for every query of a list before a night: the same facts always give the same decisions. */
export function decideNight(
  queries: readonly KnownQuery[],
  today: number,
  { list, longest, share, lends = false }: CadenceRules,
): readonly CadenceDecision[] {
  const lenders = lends ? findLenders(queries.filter((one) => isKnown(one, today))) : noLenders
  const paced = queries.map((query) => {
    const isNew = query.last === null || nightsWatched(query.steps) < newNights
    return { query, isNew, rate: changeRate(query.steps, today), spread: query.spread }
  })
  const limits = { longest, share, chance: chanceShare }
  const patience = patienceFor(
    paced.filter(({ isNew, query }) => !isNew && !lenders.has(query.id)),
    limits,
  )
  const rested = paced.map((one) => {
    const interval = one.isNew ? 1 : intervalFor(one, patience, longest)
    return lend(rest(one, interval, today), { ...one, longest, today, lenders })
  })
  const woken = wokenIn(queries, rested, today)
  return rested.map((decision): CadenceDecision => {
    const { id, due } = decision
    if (due <= today) return decision
    // What moves near a twin is seen where its lender is asked.
    if (woken.has(id) && decision.lentBy === null) {
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
    const why = 'no answer of the nights before is known'
    return { id, interval: 1, due: today, byChance, lentBy: null, why }
  }
  const due = Math.max(last.day + interval, today)
  return { id, interval, due, byChance, lentBy: null, why: whyOf(steps, rate) }
}

/** Nothing that is dated after the night is taken for known. */
function isKnown({ last }: KnownQuery, today: number): boolean {
  return last !== null && last.day <= today
}

const noLenders: ReadonlyMap<string, Lender> = new Map()

/** A twin is asked itself once in five to seven days, whatever it does: until then the answer of the other is lent. */
function lend(
  decision: CadenceDecision,
  {
    query: { id, last, spread },
    longest,
    today,
    lenders,
  }: {
    query: KnownQuery
    longest: number
    today: number
    lenders: ReadonlyMap<string, Lender>
  },
): CadenceDecision {
  const lender = lenders.get(id)
  const interval = Math.min(longest, 5 + Math.floor(3 * spread))
  if (lender === undefined || last === null || interval <= decision.interval) return decision
  const due = Math.max(last.day + interval, today)
  const why = `its last ${count(lender.equal, 'answer')} had the same first ten as those of another query`
  return { ...decision, interval, due, lentBy: due > today ? lender.id : null, why }
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
