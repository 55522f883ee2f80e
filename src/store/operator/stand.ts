import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { only } from '../statement.ts'

/** What a fleet that stands has before it: sums to look for the reason in. */
export interface StandWitness {
  readonly accounts: unknown
  readonly stops: unknown
  readonly workers: unknown
  readonly calls: unknown
  readonly tasks: unknown
  readonly slices: unknown
  /** Jobs of the queue, where it lives in the database. */
  readonly jobs: unknown
}

export async function witnessStand(db: Database): Promise<StandWitness> {
  const { rows } = await sql<Omit<StandWitness, 'jobs'>>`
    select
      (select jsonb_agg(to_jsonb(a)) from accounts a) as accounts,
      (select jsonb_agg(to_jsonb(s)) from stops s where cleared_at is null) as stops,
      (select jsonb_agg(to_jsonb(w)) from workers w where stopped_at is null) as workers,
      (
        select jsonb_agg(to_jsonb(c))
        from (
          select account_id, worker, count(*), min(sent_at) as oldest, max(sent_at) as newest
          from calls
          where outcome is null
          group by account_id, worker
        ) c
      ) as calls,
      (
        select jsonb_agg(to_jsonb(t))
        from (
          select t.run_id, r.state as run_state, r.budget, t.state, count(*),
            count(*) filter (where not_before > clock_timestamp()) as waiting
          from tasks t
          join runs r on r.id = t.run_id
          where t.state = 'open'
          group by t.run_id, r.state, r.budget, t.state
        ) t
      ) as tasks,
      (
        select jsonb_agg(to_jsonb(s))
        from (
          select run_id, slice, round, done_at
          from slices
          where exists (
            select from tasks t
            where t.run_id = slices.run_id and t.slice = slices.slice and t.state = 'open'
          )
          order by run_id, slice
          limit 40
        ) s
      ) as slices`.execute(db)
  return { ...only(rows), jobs: await witnessJobs(db) }
}

async function witnessJobs(db: Database): Promise<unknown> {
  const { rows: found } = await sql<{ there: boolean }>`
    select to_regclass('bullmq.job') is not null as there`.execute(db)
  if (!only(found).there) return null
  const { rows } = await sql<{ jobs: unknown }>`
    select jsonb_agg(to_jsonb(j)) as jobs
    from (
      select id, queue, state, lock_token,
        locked_until_ms - (extract(epoch from clock_timestamp()) * 1000)::bigint as locked_for_ms,
        process_at_ms - (extract(epoch from clock_timestamp()) * 1000)::bigint as due_in_ms
      from bullmq.job
      order by id
      limit 80
    ) j`.execute(db)
  return only(rows).jobs
}
