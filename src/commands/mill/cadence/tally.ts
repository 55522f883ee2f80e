import { clustered, type Bounds } from './bounds.ts'
import { sumUpLent, type LentReceipt } from './lent.ts'
import type { Move } from './receipt.ts'
import type { QueryHistory, ReplayedNight } from './replay.ts'

/** A move is seen in time when it is seen so many nights after daily asking sees it, or sooner. */
const inTimeNights = 2

/** What resting came to, or would have come to, for some queries of a list. */
export interface Receipt {
  readonly queries: number
  readonly daily_calls: number
  readonly calls: number
  readonly saved: Bounds
  readonly moves: number
  readonly at_once: number
  readonly in_time: number
  readonly late: number
  readonly never: number
  /** Nights that the move seen latest was late; null: no move was seen. */
  readonly latest: number | null
  readonly seen_in_time: Bounds
  readonly never_seen: Bounds
  readonly lent: LentReceipt
}

/** Adds up the nights of a replay for some of its queries; the bounds are Wilson's, a query with its moves as one cluster. */
export function sumUp(
  histories: readonly QueryHistory[],
  nights: readonly ReplayedNight[],
  moves: readonly Move[],
): Receipt {
  const calls = new Map(histories.map(({ id }) => [id, 0]))
  for (const { asked } of nights) {
    for (const id of asked) {
      const before = calls.get(id)
      if (before !== undefined) calls.set(id, before + 1)
    }
  }
  const held = moves.filter(({ id }) => calls.has(id))
  const lates = held.flatMap(({ late }) => (late === null ? [] : [late]))
  const inTime = lates.filter((late) => late <= inTimeNights).length
  return {
    queries: histories.length,
    daily_calls: histories.reduce((sum, { sights }) => sum + sights.length, 0),
    calls: [...calls.values()].reduce((sum, of) => sum + of, 0),
    saved: clustered(
      histories.map(({ id, sights }) => {
        return { some: sights.length - (calls.get(id) ?? 0), many: sights.length }
      }),
    ),
    moves: held.length,
    at_once: lates.filter((late) => late === 0).length,
    in_time: inTime,
    late: lates.length - inTime,
    never: held.length - lates.length,
    latest: lates.length === 0 ? null : lates.reduce((most, late) => Math.max(most, late), 0),
    seen_in_time: shareOf(held, ({ late }) => late !== null && late <= inTimeNights),
    never_seen: shareOf(held, ({ late }) => late === null),
    lent: sumUpLent(nights.flatMap(({ lent }) => lent.filter(({ id }) => calls.has(id)))),
  }
}

function shareOf(moves: readonly Move[], isOne: (move: Move) => boolean): Bounds {
  const clusters = new Map<string, { some: number; many: number }>()
  for (const move of moves) {
    const cluster = clusters.get(move.id) ?? { some: 0, many: 0 }
    cluster.many += 1
    if (isOne(move)) cluster.some += 1
    clusters.set(move.id, cluster)
  }
  return clustered([...clusters.values()])
}
