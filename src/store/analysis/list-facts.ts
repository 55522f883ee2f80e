import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import type { ReadSpan } from './span.ts'

/** A list with what its newest run came to. */
export interface ListFacts {
  readonly id: number
  readonly name: string
  readonly source: string
  readonly budget: number | null
  /** How a person said that it is read. */
  readonly reading: Readonly<Record<string, unknown>> | null
  readonly members: number
  readonly run: number | null
  readonly runDate: string | null
  readonly rows: number | null
  readonly accepted: number | null
  readonly duplicates: number | null
  readonly rejected: number | null
  readonly state: string | null
  /** Credits of its runs of the last thirty days. */
  readonly credits: number
}

/** Every list, or one, with its newest run. */
export async function readListFacts(
  db: Database,
  only: number | null,
): Promise<readonly ListFacts[]> {
  const { rows } = await sql<ListFacts>`
    select
      lists.id, lists.name, lists.source, lists.budget, lists.reading, held.members, newest.id as run,
      newest.run_date as "runDate", newest.rows, newest.accepted, newest.duplicates, newest.rejected, newest.state,
      coalesce(
        (
          select sum(spent)
          from runs
          where runs.list_id = lists.id
            and runs.run_date > current_date - 30
        ),
        0
      ) as credits
    from lists
    cross join lateral (
      select count(*) as members
      from list_queries
      where list_queries.list_id = lists.id
        and list_queries.last_seen = (
          select max(others.last_seen)
          from list_queries as others
          where others.list_id = lists.id
        )
    ) as held
    left join lateral (
      select *
      from runs
      where runs.list_id = lists.id
      order by runs.run_date desc, runs.id desc
      limit 1
    ) as newest on true
    where case when ${only}::bigint is null
      then lists.forgotten_at is null
      else lists.id = ${only}::bigint
    end
    order by lists.name`.execute(db)
  return rows
}

/** What became of a list on one day. */
export interface ListDay {
  /** Its newest run. */
  readonly run: number | null
  readonly runDate: string
  readonly planned: number
  readonly answered: number
  readonly bought: number
  readonly reused: number
  readonly notAsked: number
  readonly failed: number
  readonly unknown: number
  readonly open: number
  /** Unreadable, suspect, or of a kind that is not shown; too dear; cancelled. */
  readonly others: number
  readonly credits: number
}

/** Coverage and cost of a list, day by day, the newest first. */
export async function readListDays(
  db: Database,
  { name, since, until }: Pick<ReadSpan, 'since' | 'until'> & { readonly name: string },
): Promise<readonly ListDay[]> {
  const { rows } = await sql<ListDay>`
    select
      (
        select max(runs.id)
        from runs
        join lists on lists.id = runs.list_id
        where lists.name = ${name}
          and runs.run_date = coverage.run_date
      ) as run,
      coverage.run_date as "runDate", coverage.planned, coverage.answered, coverage.bought, coverage.reused,
      coverage.not_asked as "notAsked",
      coverage.failed, coverage.unknown, coverage.open,
      coverage.unreadable + coverage.suspect + coverage.hidden + coverage.unaffordable + coverage.cancelled as others,
      (
        select coalesce(sum(runs.spent), 0)
        from runs
        join lists on lists.id = runs.list_id
        where lists.name = ${name}
          and runs.run_date = coverage.run_date
      ) as credits
    from (
      select distinct runs.run_date
      from runs
      join lists on lists.id = runs.list_id
      where lists.name = ${name}
        and runs.run_date between ${since}::date and ${until}::date
    ) as days
    -- Day by day: asked for a span, the view reads the answers of all days.
    cross join lateral (
      select *
      from analysis.coverage
      where coverage.list = ${name}
        and coverage.run_date = days.run_date
      offset 0
    ) as coverage
    order by coverage.run_date desc`.execute(db)
  return rows
}
