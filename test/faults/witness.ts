import type { Database } from '../../src/base/database/database.ts'
import { sql } from '../../src/base/database/kysely.ts'
import { only } from '../../src/base/database/sql-file.ts'

/** A task with its state, to be compared with the API's records. */
export interface TaskWitness {
  readonly q: string
  readonly state: string
  readonly ambiguous: number
  /** Its calls that may have been charged, excluding those that were never sent or were rejected at no cost. */
  readonly chargeable: number
}

/** The ledger's data about one account. */
export interface PurseWitness {
  readonly account: string
  readonly used: number
  readonly held: number
}

/** Sums over calls and answers in the tables. */
export interface Sums {
  readonly in_flight: number
  readonly unsent: number
  readonly calls: number
  readonly received: number
  readonly without_body: number
  readonly miscounted: number
  /** Answers whose body or rows belong to a query other than their own. */
  readonly wrong: number
  /** Answers dated before their call, or days in the future. */
  readonly misdated: number
}

export async function witnessTasks(db: Database): Promise<readonly TaskWitness[]> {
  const { rows } = await sql<TaskWitness>`
    select q.q, t.state, t.ambiguous,
      (
        select count(*)::integer
        from calls c
        where c.task_id = t.id
          and c.outcome is distinct from 'unsent'
          and (c.http_status is null or c.http_status not between 300 and 499)
      ) as chargeable
    from tasks t
    join queries q on q.id = t.query_id`.execute(db)
  return rows
}

export async function witnessPurses(db: Database): Promise<readonly PurseWitness[]> {
  const { rows } = await sql<PurseWitness>`
    select a.name as account,
      coalesce(sum(c.credits_used) filter (where c.outcome = 'settled'), 0)::float8 as used,
      coalesce(sum(c.credits_reserved) filter (where c.outcome = 'unknown'), 0)::float8 as held
    from accounts a
    left join calls c on c.account_id = a.id
    group by a.id`.execute(db)
  return rows
}

/** Budgets of runs that have one, by list. */
export async function witnessBudgets(
  db: Database,
): Promise<readonly { list: string; budget: number }[]> {
  const { rows } = await sql<{ list: string; budget: number }>`
    select l.name as list, r.budget
    from runs r
    join lists l on l.id = r.list_id
    where r.budget is not null`.execute(db)
  return rows
}

/** Sums over calls and answers, computed from the raw bodies where rows came from them. */
export async function witnessSums(db: Database): Promise<Sums> {
  const { rows } = await sql<Sums>`
    with answers as (
      select s.id, s.query_id, s.fetched_at, s.call_id, r.call_id is not null as kept, q.q,
        case when s.parse_error is null then convert_from(r.body, 'UTF8')::jsonb end as body
      from searches s
      join queries q on q.id = s.query_id
      left join raw_answers r on r.call_id = s.call_id
    )
    select
      count(*) filter (where c.outcome is null)::integer as in_flight,
      count(*) filter (where c.outcome = 'unsent')::integer as unsent,
      count(*)::integer as calls,
      count(*) filter (where s.id is not null)::integer as received,
      count(*) filter (where s.id is not null and not s.kept)::integer as without_body,
      count(*) filter (
        where s.body is not null
          and jsonb_array_length(s.body -> 'organic_results')
            <> (select count(*) from organic_results o where o.search_id = s.id)
      )::integer as miscounted,
      count(*) filter (
        where s.query_id <> c.query_id
          or s.body ->> 'query' is distinct from s.q and s.body is not null
          or exists (
            select from search_related_searches x
            join related_searches y on y.id = x.related_search_id
            where x.search_id = s.id and not starts_with(y.q, s.q)
          )
          or exists (select from tasks t where t.search_id = s.id and t.query_id <> s.query_id)
      )::integer as wrong,
      count(*) filter (
        where s.fetched_at < c.sent_at or s.fetched_at > clock_timestamp()
      )::integer as misdated
    from calls c
    left join answers s on s.call_id = c.id`.execute(db)
  return only(rows)
}

/** Counts open tasks, whatever the state of their run and slice. */
export async function countUnfinishedTasks(db: Database): Promise<number> {
  const { rows } = await sql<{ open: number }>`
    select count(*)::integer as open from tasks where state = 'open'`.execute(db)
  return only(rows).open
}

/** Whether the fleet makes progress, and whether it could. */
export interface FleetPace {
  /** A value that changes whenever an answer is settled. */
  readonly settled: string
  /** Tasks that could be bought now, counted up to a hundred. */
  readonly due: number
  /** Process ids of the registered workers. */
  readonly pids: readonly number[]
  readonly accounts: readonly {
    readonly name: string
    readonly bound: number
    readonly stopped: boolean
  }[]
}

export async function witnessPace(db: Database): Promise<FleetPace> {
  const { rows } = await sql<FleetPace>`
    select
      (select coalesce(max(id), 0) from searches) || '/'
        || (select coalesce(sum(used_total), 0) from accounts) as settled,
      (
        select count(*)::integer
        from (
          select 1
          from tasks t
          join runs r on r.id = t.run_id and r.state = 'open' and r.budget is null
          where t.state = 'open'
            and (t.not_before is null or t.not_before <= clock_timestamp())
            and not exists (select from calls c where c.task_id = t.id and c.outcome is null)
          limit 100
        ) waiting
      ) as due,
      (select coalesce(jsonb_agg(pid), '[]') from workers where stopped_at is null) as pids,
      (
        select coalesce(jsonb_agg(jsonb_build_object(
          'name', a.name,
          'bound', a.reserved + a.uncertain,
          'stopped', exists (
            select from stops s
            where s.account_id = a.id
              and s.cleared_at is null
              and (s.until is null or s.until > clock_timestamp())
          )
        )), '[]')
        from accounts a
      ) as accounts`.execute(db)
  return only(rows)
}
