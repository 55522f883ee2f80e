import type { Database } from '../database.ts'
import { travel } from '../pipelining.ts'
import { statement } from '../statement.ts'
import { takeAccount, takeLists, type AccountRow } from './books.ts'
import type { ListPurse } from './waiting.ts'

/** What a reservation writes, and what it rests on. */
export interface Reservation {
  readonly account_id: number
  readonly worker: number
  readonly origin: string
  readonly api: string
  readonly key: string
  /** The floor of this worker. */
  readonly floor: number
  /** False for a test account, which has no floor. */
  readonly counts: boolean
  /** Calls of all workers that may be in flight; null: no limit. */
  readonly most_in_flight: number | null
  /** Of the books that it was decided on. */
  readonly version: string
  /** True: right as long as there is room, whatever others wrote meanwhile. */
  readonly steady: boolean
  /** What becomes of the account apart from its sums, if nobody wrote meanwhile. */
  readonly state: Pick<
    AccountRow,
    | 'drained_floor'
    | 'blind_calls'
    | 'probe_granted'
    | 'last_probe_at_ms'
    | 'rate_next_at_ms'
    | 'day'
    | 'day_spent'
    | 'month'
    | 'month_spent'
  >
  readonly stops: readonly { reason: string; until_ms: number | null; detail: string | null }[]
  readonly cleared: readonly { reason: string; by: string }[]
  readonly tasks: readonly { id: number; version: string; reused: boolean }[]
  readonly runs: readonly {
    run: number
    budget: number | null
    had_spent: number
    had_reserved: number
    reserved: number
    /** What its list had, or that it had no budget. */
    list: ListPurse | null
  }[]
  readonly grants: readonly {
    task: number
    query: string
    mark: string
    place: number
    max_age_ms: number
    class: string
    bound: number
    probe: boolean
  }[]
  /** Classes never seen before, of which one call goes out now. */
  readonly trying: readonly string[]
  readonly reused: readonly { task: number; search: number }[]
  /** Tasks of spent runs that were looked at: nothing but a call would answer them. */
  readonly given_up: readonly number[]
  readonly spent_runs: readonly number[]
  readonly spent_by_list: readonly number[]
}

/** Writes a reservation and commits; gives back which call serves which task, or null when it must be decided anew. */
export async function saveReservation(
  db: Database,
  reservation: Reservation,
): Promise<ReadonlyMap<number, number> | null> {
  const [row] = await travel(db, async (trip) => {
    const runs = reservation.runs.map(({ run }) => run)
    takeAccount(trip, reservation.account_id, runs)
    takeLists(trip, runs)
    return trip.end(
      statement<{ written: boolean; calls: string[]; tasks: string[] }>('reserve_calls', [
        JSON.stringify(reservation),
      ]),
    )
  })
  if (row === undefined || !row.written) return null
  // The driver leaves the numbers of an array as texts.
  return new Map(row.tasks.map((task, index) => [Number(task), Number(row.calls[index])]))
}
