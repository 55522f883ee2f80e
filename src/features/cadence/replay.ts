// Replays a list's past nights as if the list had been adaptive, and estimates the saved calls and the missed moves.

import { groupBy } from '../../base/query.ts'
import {
  type CadenceRules,
  decideNight,
  drawnFrom,
  type FirstTen,
  type KnownQuery,
  movesBetween,
  stepBetween,
} from './night.ts'

export interface QueryHistory {
  readonly id: string
  readonly firstTens: readonly FirstTen[]
}

export type ReplayedNight = ReturnType<typeof replayNights>[number]

/** Number of past days whose answers are used for a decision. */
export function memoryOf(longest: number): number {
  return Math.max(60, 2 * longest)
}

/**
 * Replays all nights. For each night, returns the number of queries bought with a daily cadence, and the queries
 * bought with an adaptive cadence, including a random sample.
 */
export function replayNights(histories: readonly QueryHistory[], rules: CadenceRules) {
  const memory = memoryOf(rules.longest)
  const bought = new Map<string, FirstTen[]>(histories.map(({ id }) => [id, []]))
  const answers = histories.flatMap(({ id, firstTens }) =>
    firstTens.map((firstTen) => ({ id, firstTen })),
  )
  const nights = [...groupBy(answers, ({ firstTen }) => firstTen.day)]
    .map(([day, held]) => ({ day, held }))
    .toSorted((one, other) => one.day - other.day)
  return nights.map(({ day, held }, nth) => {
    const before = nights[nth - 1]?.day ?? day
    // A query belongs to the list from its first to its last answer.
    const members = histories.filter(({ firstTens }) => {
      const [first, last] = [firstTens[0], firstTens.at(-1)]
      return first !== undefined && last !== undefined && first.day < day && last.day >= before
    })
    const known = members.map(({ id }) => {
      const recent = bought.get(id)?.filter((firstTen) => firstTen.day >= day - memory)
      return knownOf(rules.list, id, recent ?? [])
    })
    const decisions = new Map(decideNight(known, day, rules).map((one) => [one.id, one]))
    const asked: string[] = []
    const byChance: string[] = []
    for (const { id, firstTen } of held) {
      const decision = decisions.get(id)
      if (decision !== undefined && decision.due > day && !decision.byChance) continue
      asked.push(id)
      if (decision?.byChance === true) byChance.push(id)
      bought.get(id)?.push(firstTen)
    }
    return { day, queries: held.length, asked, byChance }
  })
}

function pairsOf(firstTens: readonly FirstTen[]) {
  return firstTens.slice(1).flatMap((after, index) => {
    const before = firstTens[index]
    return before === undefined ? [] : [[before, after] as const]
  })
}

/** Describes a query by its answers (oldest first). */
export function knownOf(list: string, id: string, firstTens: readonly FirstTen[]): KnownQuery {
  const steps = pairsOf(firstTens).flatMap(([before, after]) => stepBetween(before, after) ?? [])
  const [before = null, last = null] = [firstTens.at(-2), firstTens.at(-1)]
  return { id, spread: drawnFrom(list, id), steps, last, before }
}

/** A move is seen in time if it is seen at most this many nights later than with daily buying. */
const inTimeNights = 2

/** Summarizes a replay's nights for the given queries. Each query's moves form one cluster. */
export function sumUp(
  histories: readonly QueryHistory[],
  nights: readonly ReplayedNight[],
  moves: readonly Move[],
) {
  const calls = new Map(histories.map(({ id }) => [id, 0]))
  for (const id of nights.flatMap(({ asked }) => asked)) {
    const before = calls.get(id)
    if (before !== undefined) calls.set(id, before + 1)
  }
  const held = moves.filter(({ id }) => calls.has(id))
  const lates = held.flatMap(({ late }) => (late === null ? [] : [late]))
  const inTime = lates.filter((late) => late <= inTimeNights).length
  return {
    queries: histories.length,
    daily_calls: histories.reduce((sum, { firstTens }) => sum + firstTens.length, 0),
    calls: [...calls.values()].reduce((sum, of) => sum + of, 0),
    saved: clustered(
      histories.map(({ id, firstTens }) => {
        return { some: firstTens.length - (calls.get(id) ?? 0), many: firstTens.length }
      }),
    ),
    moves: held.length,
    at_once: lates.filter((late) => late === 0).length,
    in_time: inTime,
    late: lates.length - inTime,
    never: held.length - lates.length,
    /** Longest delay in nights until a move was seen; null if no move was seen. */
    latest: lates.length === 0 ? null : lates.reduce((most, late) => Math.max(most, late), 0),
    seen_in_time: shareOf(held, ({ late }) => late !== null && late <= inTimeNights),
    never_seen: shareOf(held, ({ late }) => late === null),
  }
}

function shareOf(moves: readonly Move[], isOne: (move: Move) => boolean): Bounds {
  const clusters = [...groupBy(moves, ({ id }) => id).values()]
  return clustered(clusters.map((of) => ({ some: of.filter(isOne).length, many: of.length })))
}

/** A page that entered or left a query's top ten according to daily answers. */
interface Move extends Omit<Change, 'since'> {
  readonly id: string
  /** Number of nights until the move is seen; null if the move is never seen. */
  readonly late: number | null
}

/** Finds all moves in the histories, and the delay with which the given purchases reveal each move. */
export function movesSeen(
  histories: readonly QueryHistory[],
  nights: readonly ReplayedNight[],
): readonly Move[] {
  const asked = new Map<string, Set<number>>(histories.map(({ id }) => [id, new Set()]))
  for (const night of nights) for (const id of night.asked) asked.get(id)?.add(night.day)
  const place = new Map(nights.map(({ day }, index) => [day, index]))
  return histories.flatMap(({ id, firstTens }) => {
    const bought = firstTens.filter(({ day }) => asked.get(id)?.has(day) === true)
    // Matches each move to the newest compatible observed move, if any.
    const left = [...changesOf(bought)]
    const judged = changesOf(firstTens)
      .toReversed()
      .map(({ day, page, entered }): Move => {
        const found = left.findIndex(
          (one) =>
            one.page === page && one.entered === entered && one.since < day && one.day >= day,
        )
        const [seen] = found === -1 ? [] : left.splice(found, 1)
        const late = seen === undefined ? null : (place.get(seen.day) ?? 0) - (place.get(day) ?? 0)
        return { id, day, page, entered, late }
      })
    return judged.toReversed()
  })
}

interface Change {
  readonly since: number
  readonly day: number
  readonly page: number
  readonly entered: boolean
}

function changesOf(firstTens: readonly FirstTen[]): readonly Change[] {
  return pairsOf(firstTens).flatMap(([before, after]) => {
    const moves = movesBetween(before, after)
    if (moves === null) return []
    const span = { since: before.day, day: after.day }
    return [
      ...moves.entered.map((page) => ({ ...span, page, entered: true })),
      ...moves.left.map((page) => ({ ...span, page, entered: false })),
    ]
  })
}

/** Uses a random sample to estimate how many of the `resting` queries moved unnoticed. */
export function unseenOf({ resting, drawn, moved }: Record<'resting' | 'drawn' | 'moved', number>) {
  const share = wilson(moved, drawn)
  return {
    share,
    queries: {
      expected: share.share === null ? null : share.share * resting,
      low: share.low * resting,
      high: share.high * resting,
    },
  }
}

/** A share with the bounds of its 95% confidence interval. */
export interface Bounds {
  readonly share: number | null
  readonly low: number
  readonly high: number
}

const z = 1.96

/** Wilson's interval with continuity correction. `many` is the effective sample size, not always an integer. */
function wilson(some: number, many: number): Bounds {
  if (many <= 0) return { share: null, low: 0, high: 1 }
  const share = some / many
  const low = lower(share, many)
  return { share, low, high: 1 - lower(1 - share, many) }
}

function lower(share: number, many: number): number {
  if (share === 0) return 0
  const root =
    z * Math.sqrt(Math.max(0, z * z - 2 - 1 / many + 4 * share * (many * (1 - share) + 1)))
  return Math.max(0, (2 * many * share + z * z - 1 - root) / (2 * (many + z * z)))
}

/** Computes a Wilson interval for clusters, because moves of one query tend to be delayed together. */
function clustered(clusters: readonly { some: number; many: number }[]): Bounds {
  const held = clusters.filter(({ many }) => many > 0)
  const many = held.reduce((sum, one) => sum + one.many, 0)
  const some = held.reduce((sum, one) => sum + one.some, 0)
  if (held.length < 2)
    return { ...wilson(some, Math.min(many, held.length)), share: many === 0 ? null : some / many }
  const share = some / many
  const apart = held.reduce((sum, one) => sum + (one.some - share * one.many) ** 2, 0)
  const variance = (apart / many ** 2) * (held.length / (held.length - 1))
  const independent =
    variance === 0 ? held.length : Math.min(many, (share * (1 - share)) / variance)
  const { low, high } = wilson(share * independent, independent)
  return { share, low, high }
}
