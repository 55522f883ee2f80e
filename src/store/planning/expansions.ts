import type { Query } from '../../shared/query.ts'
import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { only } from '../statement.ts'

/** A list that takes related searches, and answers of which making lead to them. */
export interface Expanding {
  readonly into: number
  readonly origin: string
}

/** How far what was taken is. */
export interface Round {
  readonly round: number
  readonly queries: number
  /** Taken, and in no run yet. */
  readonly unplanned: number
  readonly open: number
  /** Never asked, since the budget was spent or the run was cancelled. */
  readonly unasked: number
}

/** The rounds of a list so far. */
export async function readRounds(
  db: Database,
  { into, origin }: Expanding,
): Promise<readonly Round[]> {
  const { rows } = await sql<Round>`
    select
      expansions.round,
      count(*) as queries,
      count(*) filter (where expansions.run_id is null) as unplanned,
      count(*) filter (where tasks.state = 'open') as open,
      count(*) filter (where tasks.state in ('unaffordable', 'cancelled')) as unasked
    from expansions
    left join tasks on tasks.run_id = expansions.run_id and tasks.query_id = expansions.query_id
    where expansions.list_id = ${into}
      and expansions.origin = ${origin}
    group by expansions.round
    order by expansions.round`.execute(db)
  return rows
}

/** Credits that the runs of the list have used or set aside, with the bound of each call whose cost is not known. */
export async function readUsed(db: Database, { into, origin }: Expanding): Promise<number> {
  const { rows } = await sql<{ used: number }>`
    select coalesce(sum(case
      when calls.outcome = 'settled' then coalesce(calls.credits_used, 0)
      when calls.outcome = 'unsent' then 0
      else calls.credits_reserved
    end), 0) as used
    from runs
    join tasks on tasks.run_id = runs.id
    join calls on calls.task_id = tasks.id
    join accounts on accounts.id = calls.account_id
    where runs.list_id = ${into}
      and accounts.kind = ${origin}`.execute(db)
  return only(rows).used
}

/** Runs that still have something of the list to buy. */
export async function readOpenRuns(db: Database, into: number): Promise<readonly number[]> {
  const { rows } = await sql<{ id: number }>`
    select id
    from runs
    where list_id = ${into}
      and state in ('planning', 'open')
    order by id`.execute(db)
  return rows.map(({ id }) => id)
}

/** The queries that lists hold, or held once. */
export async function readHeld(db: Database, lists: readonly number[]): Promise<readonly Query[]> {
  const { rows } = await sql<Query>`
    select distinct queries.q, queries.location, queries.hl, queries.gl, queries.num, queries.device
    from list_queries
    join queries on queries.id = list_queries.query_id
    where list_queries.list_id = any(${[...lists]}::bigint[])`.execute(db)
  return rows
}

/** Name of the list whose related searches a list took; null: it took none. */
export async function expandedFrom(db: Database, list: number): Promise<string | null> {
  const { rows } = await sql<{ name: string }>`
    select lists.name
    from expansions
    join lists on lists.id = expansions.source_list_id
    where expansions.list_id = ${list}
    limit 1`.execute(db)
  return rows[0]?.name ?? null
}
