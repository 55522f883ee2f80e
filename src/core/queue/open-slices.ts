// Reads the slices that have open tasks, and closes runs without open tasks.

import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { readRows } from '../../base/database/sql-file.ts'
import type { Query } from '../../base/query.ts'
import type { QueuedSlice, SliceJob } from './slice-jobs.ts'

/** A slice with an open task, and the time until its first task is due. */
type OpenSlice = Required<QueuedSlice>

export interface OpenTask extends Query {
  readonly id: number
  readonly query_id: string
  readonly wait_ms: number
  readonly deaths: number
  /** True if the API answered a call for this task with 401 or 403. */
  readonly refused: boolean
}

/** Reads the open tasks in a slice's current round, or returns null if a later round is queued or no task is open. */
export async function openTasks(
  db: Database,
  { run, slice, round }: SliceJob,
): Promise<{ priority: number; tasks: readonly OpenTask[] } | null> {
  const job = { run, slice, round }
  const [found] = await readRows<{ priority: number; tasks: OpenTask[] }>(db, 'open_tasks', job)
  return found ?? null
}

/** If a run has fewer open slices than this, a check after each slice determines whether it was the last. */
const nearTheEnd = 100

/**
 * Ends a round. A slice without open tasks is done, and its run is done after the last slice. For open slices, returns
 * the next round to queue. A commit lost in a crash does no harm: either the job is delivered again, or the slice has
 * no open task and does not keep its run open.
 */
export async function endRound(
  db: Database,
  { run, slice, round }: SliceJob,
): Promise<OpenSlice | null> {
  const job = { run, slice, round, near_the_end: nearTheEnd }
  const [row] = await readRows<OpenSlice & { open: boolean; near: boolean }>(db, 'end_round', job)
  if (row === undefined) return null
  const { near, open, ...next } = row
  if (open) return next
  if (near) await closeRuns(db, run)
  return null
}

/** True if a run has no open task, even if some of its slices are still marked open. */
const nothingOpen = sql`
  not exists (
    select from slices s
    where s.run_id = runs.id
      and s.done_at is null
      and exists (
        select from tasks t where t.run_id = s.run_id and t.slice = s.slice and t.state = 'open'
      )
  )`

/** Ends runs without an open task. The runs are locked first, so that the update sees slices added in the meantime. */
export async function closeRuns(db: Database, run: number | null = null): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ id: number }>`
      select id
      from runs
      where state = 'open'
        and (${run}::bigint is null or id = ${run}::bigint)
        and ${nothingOpen}
      order by id
      for no key update`.execute(trx)
    if (rows.length === 0) return
    await sql`
      with closed as (
        update runs
        set state = 'done', finished_at = clock_timestamp()
        where id = any(${rows.map(({ id }) => id)}::bigint[])
          and state = 'open'
          and ${nothingOpen}
        returning id
      )
      update slices
      set done_at = clock_timestamp()
      from closed
      where slices.run_id = closed.id and slices.done_at is null`.execute(trx)
  })
}

/**
 * Pages through the slices with an open task, which should all be queued. Each slice's tasks are looked up by key,
 * because a join over all slices would read every open task for each page.
 */
export async function listOpenSlices(
  db: Database,
  page: {
    readonly after: { readonly run: number; readonly slice: number } | null
    readonly limit: number
    readonly run?: number | undefined
  },
): Promise<readonly OpenSlice[]> {
  const { after, limit, run } = page
  const { rows } = await sql<OpenSlice>`
    select s.run_id as run, s.slice, s.round, s.priority, s.turn,
      greatest(0, extract(epoch from (open.due - clock_timestamp()))::float8 * 1000) as "delayMs"
    from slices s
    join runs r on r.id = s.run_id and r.state = 'open'
    cross join lateral (
      select min(coalesce(t.not_before, clock_timestamp())) as due
      from tasks t
      where t.run_id = s.run_id and t.slice = s.slice and t.state = 'open'
    ) open
    where s.done_at is null
      and open.due is not null
      and (s.run_id, s.slice) > (${after?.run ?? 0}::bigint, ${after?.slice ?? -1}::integer)
      ${run === undefined ? sql`` : sql`and s.run_id = ${run}`}
    order by s.run_id, s.slice
    limit ${limit}`.execute(db)
  return rows
}

export async function anyOpen(db: Database): Promise<boolean> {
  const { rows } = await sql<{ open: boolean }>`
    select exists (
      select from slices s
      join runs r on r.id = s.run_id and r.state = 'open'
      where s.done_at is null
        and exists (
          select from tasks t where t.run_id = s.run_id and t.slice = s.slice and t.state = 'open'
        )
    ) as open`.execute(db)
  return rows[0]?.open ?? false
}

export async function installationId(db: Database): Promise<string> {
  const row = await db.selectFrom('installation').select('id').executeTakeFirstOrThrow()
  return row.id
}
