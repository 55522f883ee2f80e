// Reads from the database which slices have open tasks.

import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'

/** A slice with an open task, and when its first task is due. */
interface OpenSlice {
  readonly run: number
  readonly slice: number
  readonly round: number
  readonly priority: number
  /** Position among slices of other lists with the same priority; null: the lists have no shares. */
  readonly turn: number | null
  readonly delay_ms: number
}

/** An open task with all data needed for a call. */
export interface OpenTask {
  readonly id: number
  readonly query_id: string
  readonly q: string
  readonly location: string | null
  readonly hl: string | null
  readonly gl: string | null
  readonly num: number
  readonly device: 'desktop' | 'mobile' | 'tablet' | null
  readonly wait_ms: number
  /** Number of workers that died during a call of this task. */
  readonly deaths: number
  /** True if a call of this task was answered with 401 or 403. */
  readonly refused: boolean
}

/** Open tasks of a slice in its current round; null if a later round has been queued, or nothing is left. */
export async function openTasks(
  db: Database,
  { run, slice, round }: { run: number; slice: number; round: number },
): Promise<{ priority: number; tasks: readonly OpenTask[] } | null> {
  const { rows } = await sql<{ priority: number; tasks: OpenTask[] }>`
    select s.priority,
      (
        select coalesce(jsonb_agg(jsonb_build_object(
          'id', t.id,
          'query_id', t.query_id,
          'q', q.q,
          'location', q.location,
          'hl', q.hl,
          'gl', q.gl,
          'num', q.num,
          'device', q.device,
          'deaths', t.deaths,
          'refused', exists (select from calls c where c.task_id = t.id and c.http_status in (401, 403)),
          'wait_ms', greatest(0, extract(epoch from t.not_before - clock_timestamp())::float8 * 1000)
        ) order by t.id), '[]')
        from tasks t
        join queries q on q.id = t.query_id
        where t.run_id = s.run_id and t.slice = s.slice and t.state = 'open'
      ) as tasks
    from slices s
    join runs r on r.id = s.run_id
    where s.run_id = ${run} and s.slice = ${slice} and s.round = ${round}
      and s.done_at is null and r.state = 'open'`.execute(db)
  return rows[0] ?? null
}

/**
 * With fewer open slices than this, a run is almost finished, and each slice that ends checks whether it was the last.
 */
const nearTheEnd = 100

/**
 * Ends a round. A slice without open tasks is done, and so is its run after the last slice; otherwise returns the next
 * round to queue. The commit is not flushed to disk: if a crash loses it, the slice's job is delivered again, or the
 * slice has no open task and does not prevent its run from being closed.
 */
export async function endRound(
  db: Database,
  { run, slice, round }: { run: number; slice: number; round: number },
): Promise<OpenSlice | null> {
  const { rows } = await sql<OpenSlice & { open: boolean; near: boolean }>`
    with rest as (
      select count(*) as open, min(coalesce(not_before, clock_timestamp())) as due
      from tasks
      where run_id = ${run} and slice = ${slice} and state = 'open'
    ),
    others as (
      select count(*) as open
      from (select from slices where run_id = ${run} and done_at is null limit ${nearTheEnd}) counted
    ),
    hasty as materialized (
      select set_config('synchronous_commit', 'off', true)
    )
    update slices
    set
      round = case when rest.open > 0 then round + 1 else round end,
      done_at = case when rest.open > 0 then null else clock_timestamp() end
    from rest, others, hasty
    where run_id = ${run} and slice = ${slice} and round = ${round}
    returning
      run_id as run, slice, round, priority, turn, rest.open > 0 as open, others.open < ${nearTheEnd} as near,
      greatest(0, extract(epoch from rest.due - clock_timestamp())::float8 * 1000) as delay_ms`.execute(
    db,
  )
  const row = rows[0]
  if (row === undefined) return null
  const { near, open, ...next } = row
  if (open) return next
  if (near) await closeRuns(db, run)
  return null
}

/** True for a run without an open task. Ignores slices left open although all of their tasks have ended. */
const nothingOpen = sql`
  not exists (
    select from slices s
    where s.run_id = runs.id
      and s.done_at is null
      and exists (
        select from tasks t where t.run_id = s.run_id and t.slice = s.slice and t.state = 'open'
      )
  )`

/**
 * Ends runs without an open task. A separate statement locks the rows, so that the next one sees slices added by a
 * planner it had to wait for.
 */
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
 * Pages through the slices with an open task, which the queue should contain. Looks up the tasks of each slice by key,
 * because joining all slices at once would read every open task for each page.
 */
export async function listOpenSlices(
  db: Database,
  {
    after,
    limit,
    run,
  }: { after: { run: number; slice: number } | null; limit: number; run?: number | undefined },
): Promise<readonly OpenSlice[]> {
  const { rows } = await sql<OpenSlice>`
    select s.run_id as run, s.slice, s.round, s.priority, s.turn,
      greatest(0, extract(epoch from (open.due - clock_timestamp()))::float8 * 1000) as delay_ms
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

/** True while any open run has an open task. */
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

/** Unique id of this database. */
export async function installationId(db: Database): Promise<string> {
  const row = await db.selectFrom('installation').select('id').executeTakeFirstOrThrow()
  return row.id
}
