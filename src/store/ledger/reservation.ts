import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { travel } from '../pipelining.ts'
import { only, statement } from '../statement.ts'
import { mayBeAnswered } from './again.ts'
import { takeAccount, type AccountRow } from './books.ts'

/** A task as the gate needs it. */
export interface WaitingTask {
  readonly id: number
  /** Another one after every change of the task's row. */
  readonly version: string
  readonly query_id: string
  readonly state: string
  readonly run_id: number
  readonly run_open: boolean
  readonly budget: number | null
  readonly spent: number
  readonly reserved: number
  /** True when a call for the task, or for its query, is in flight, or may be answered yet although its answer was lost. */
  readonly busy: boolean
  readonly due: boolean
  /** An answer younger than this is taken instead of bought. */
  readonly max_age_ms: number
  /** An answer that is young enough for the run, readable if there is one. */
  readonly fresh: number | null
}

interface WantedTasks {
  readonly account: number
  readonly worker: number
  readonly tasks: readonly number[]
  readonly origin: string
  readonly api: string
}

/** The worker's own lease, and the tasks that it wants to buy, each with what decides whether it still is to be bought. */
export interface Waiting {
  readonly lease_live: boolean
  readonly tasks: readonly WaitingTask[]
}

/** Reads what waits to be bought; nothing is locked. */
export async function readWaiting(db: Database, wanted: WantedTasks): Promise<Waiting> {
  const { rows } = await sql<Waiting>`
    select
      (
        select w.lease_until > clock_timestamp() and w.stopped_at is null
        from workers w
        where w.id = ${wanted.worker}
      ) as lease_live,
      (
        select coalesce(jsonb_agg(jsonb_build_object(
          'id', t.id,
          'version', t.xmin::text,
          'query_id', t.query_id,
          'state', t.state,
          'run_id', t.run_id,
          'run_open', r.state = 'open',
          'budget', r.budget,
          'spent', r.spent,
          'reserved', r.reserved,
          'max_age_ms', r.max_age_ms,
          'due', t.not_before is null or t.not_before <= clock_timestamp(),
          'busy',
            exists (select from calls c where c.task_id = t.id and c.outcome is null)
            or exists (
              select from calls c
              where c.account_id = a.id and c.query_id = t.query_id and c.outcome is null
            )
            or ${mayBeAnswered},
          'fresh', (
            select s.id
            from searches s
            where r.max_age_ms > 0
              and s.query_id = t.query_id
              and s.fetched_at > clock_timestamp() - r.max_age_ms * interval '1 millisecond'
              and (t.answers_after is null or s.fetched_at > t.answers_after)
              and s.origin = ${wanted.origin}
              and s.api = ${wanted.api}
            order by s.parse_error is not null, s.fetched_at desc
            limit 1
          )
        )), '[]')
        from tasks t
        join runs r on r.id = t.run_id
        where t.id = any(${wanted.tasks}::bigint[])
      ) as tasks
    from accounts a
    where a.id = ${wanted.account}`.execute(db)
  return only(rows)
}

/** Open tasks more urgent than a priority, counted up to a limit: only asked when credit is scarce. */
export async function countMoreUrgent(
  db: Database,
  { priority, except, limit }: { priority: number; except: readonly number[]; limit: number },
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count
    from (
      select 1
      from slices s
      join runs r on r.id = s.run_id and r.state = 'open'
      join tasks t on t.run_id = s.run_id and t.slice = s.slice and t.state = 'open'
      where s.done_at is null
        and s.priority < ${priority}
        and not t.id = any(${except}::bigint[])
        and not exists (select from calls c where c.task_id = t.id and c.outcome is null)
      limit ${limit}
    ) urgent`.execute(db)
  return rows[0]?.count ?? 0
}

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
  >
  readonly stops: readonly { reason: string; until_ms: number | null; detail: string | null }[]
  readonly cleared: readonly { reason: string; by: string }[]
  readonly tasks: readonly { id: number; version: string; query: string; reused: boolean }[]
  readonly runs: readonly {
    run: number
    budget: number | null
    had_spent: number
    had_reserved: number
    reserved: number
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
  readonly spent_runs: readonly number[]
}

/** Writes a reservation and commits; gives back which call serves which task, or null when it must be decided anew. */
export async function saveReservation(
  db: Database,
  reservation: Reservation,
): Promise<ReadonlyMap<number, number> | null> {
  const [row] = await travel(db, async (trip) => {
    takeAccount(
      trip,
      reservation.account_id,
      reservation.runs.map(({ run }) => run),
    )
    return trip.end(
      statement<{ written: boolean; calls: readonly { id: number; task: number }[] }>(
        'reserve_calls',
        [JSON.stringify(reservation)],
      ),
    )
  })
  if (row === undefined || !row.written) return null
  return new Map(row.calls.map(({ id, task }) => [task, id]))
}
