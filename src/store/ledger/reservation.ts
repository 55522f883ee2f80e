import { sql } from '../kysely.ts'
import { booksColumns, booksOf, keepBooks, takeBooks } from './books.ts'
import type { Books, BooksRow, Entries } from './books.ts'
import type { Trip } from '../pipelining.ts'

/** A task as the gate needs it. */
export interface WaitingTask {
  readonly id: number
  readonly query_id: string
  readonly state: string
  readonly run_id: number
  readonly run_open: boolean
  readonly budget: number | null
  readonly spent: number
  readonly reserved: number
  /** True when a call for the task, or for its query, is in flight. */
  readonly busy: boolean
  readonly due: boolean
  /** A readable answer that is young enough for the run. */
  readonly fresh: number | null
}

interface Wanted {
  readonly account: number
  readonly worker: number
  readonly tasks: readonly number[]
  readonly origin: string
  readonly api: string
}

/** The tasks that are wanted, each with what decides whether it is still to be bought. */
function waitingTasks(wanted: Wanted) {
  return sql`
      (
        select coalesce(jsonb_agg(jsonb_build_object(
          'id', t.id,
          'query_id', t.query_id,
          'state', t.state,
          'run_id', t.run_id,
          'run_open', r.state = 'open',
          'budget', r.budget,
          'spent', r.spent,
          'reserved', r.reserved,
          'due', t.not_before is null or t.not_before <= clock_timestamp(),
          'busy',
            exists (select from calls c where c.task_id = t.id and c.outcome is null)
            or exists (
              select from calls c
              where c.account_id = a.id and c.query_id = t.query_id and c.outcome is null
            ),
          'fresh', (
            select s.id
            from searches s
            where r.max_age_ms > 0
              and s.query_id = t.query_id
              and s.fetched_at > clock_timestamp() - r.max_age_ms * interval '1 millisecond'
              and (t.answers_after is null or s.fetched_at > t.answers_after)
              and s.origin = ${wanted.origin}
              and s.api = ${wanted.api}
              and s.parse_error is null
            order by s.fetched_at desc
            limit 1
          )
        )), '[]')
        from tasks t
        join runs r on r.id = t.run_id
        where t.id = any(${wanted.tasks}::bigint[])
      ) as tasks`
}

interface Read extends BooksRow {
  readonly lease_live: boolean
  readonly tasks: readonly WaitingTask[]
}

/** Takes the account; reads the books, the worker's own lease and the tasks it wants to buy. */
export async function readForReserve(
  trip: Trip,
  wanted: Wanted,
): Promise<{ books: Books; leaseLive: boolean; tasks: readonly WaitingTask[] }> {
  const { lease_live, tasks, ...books } = await takeBooks(
    trip,
    wanted.account,
    sql<Read>`
      select ${booksColumns}, ${waitingTasks(wanted)}, (
        select w.lease_until > clock_timestamp() and w.stopped_at is null
        from workers w
        where w.id = ${wanted.worker}
      ) as lease_live
      from accounts a
      where a.id = ${wanted.account}`,
  )
  return { books: booksOf(books), leaseLive: lease_live, tasks }
}

/** Open tasks more urgent than a priority, counted up to a limit: only asked when credit is scarce. */
export async function countMoreUrgent(
  trip: Trip,
  { priority, except, limit }: { priority: number; except: readonly number[]; limit: number },
): Promise<number> {
  const [row] = await trip.run(sql<{ count: number }>`
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
    ) urgent`)
  return row?.count ?? 0
}

/** What a reservation writes beside the books of the account. */
export interface Reservation extends Entries {
  readonly worker: number
  readonly sent_at_ms: number
  readonly grants: readonly {
    task: number
    query: string
    class: string
    bound: number
    seq: number
    start_total: number
    probe: boolean
  }[]
  readonly reused: readonly { task: number; search: number }[]
  readonly spent_runs: readonly number[]
}

/** Writes a reservation and commits; gives back which call serves which task. */
export async function saveReservation(
  trip: Trip,
  reservation: Reservation,
): Promise<ReadonlyMap<number, number>> {
  const rows = await trip.end(keepBooks(reservation))
  return new Map(rows.map((row) => [row.task_id, row.id]))
}
