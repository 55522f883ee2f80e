// Reads facts about a list and its members.

import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import type { ReadSpan } from './span.ts'

/** A list with the result of its newest run. */
export interface ListFacts {
  readonly id: number
  readonly name: string
  readonly source: string
  readonly budget: number | null
  /** Reading options specified by a user. */
  readonly reading: Readonly<Record<string, unknown>> | null
  readonly members: number
  readonly run: number | null
  readonly runDate: string | null
  readonly rows: number | null
  readonly accepted: number | null
  readonly duplicates: number | null
  readonly rejected: number | null
  readonly state: string | null
  /** Credits of its runs in the last thirty days. */
  readonly credits: number
}

/** Reads all lists, or one, each with its newest run. */
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

/** Counts for a list on one day. */
export interface ListDay {
  /** Newest run of the list on that day. */
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
  /** Unreadable, suspect, of a hidden origin, unaffordable, or cancelled. */
  readonly others: number
  readonly credits: number
}

/** Coverage and cost of a list, day by day, newest first. */
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
      coverage.unreadable + coverage.suspect + coverage.other_origin + coverage.unaffordable + coverage.cancelled as others,
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

/** A query on a list. */
export interface ListMember {
  readonly id: string
  readonly q: string
  readonly variant: string
  readonly weight: number | null
  readonly priority: number
  readonly tags: readonly string[]
  readonly target: string | null
  /** Its line, if the query differs from it. */
  readonly given: string | null
  readonly current: boolean
}

/** Selects the members to read. */
interface MemberChoice {
  readonly list: number
  readonly word: string | null
  readonly tag: string | null
  /** If true, only those whose line differs from the query. */
  readonly respelled: boolean
  readonly skip: number
  readonly most: number
}

/** Members of a list, highest weight first, followed by those no longer on it. */
export async function readListMembers(
  db: Database,
  { list, word, tag, respelled, skip, most }: MemberChoice,
): Promise<readonly ListMember[]> {
  const { rows } = await sql<ListMember>`
    select
      queries.id, queries.q,
      analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant,
      members.weight, members.priority, members.tags, members.target_url as target, members.given,
      members.last_seen = newest.last_seen as current
    from list_queries as members
    join queries on queries.id = members.query_id
    cross join (select max(last_seen) as last_seen from list_queries where list_id = ${list}) as newest
    where members.list_id = ${list}
      and (${word}::text is null or strpos(lower(queries.q), lower(${word}::text)) > 0)
      and (${tag}::text is null or ${tag}::text = any (members.tags))
      and (not ${respelled}::boolean or members.given is not null)
    order by members.last_seen = newest.last_seen desc, members.weight desc nulls last, queries.q, queries.id
    limit ${most}::integer
    offset ${skip}::integer`.execute(db)
  return rows
}

/** An invalid line of a list. */
export interface RejectedLine {
  readonly line: number
  readonly reason: string
  readonly content: string
}

/** Lines rejected by a run, in order. */
export async function readRejectedLines(
  db: Database,
  run: number,
): Promise<readonly RejectedLine[]> {
  const { rows } = await sql<RejectedLine>`
    select line, reason, content
    from rejected_lines
    where run_id = ${run}
    order by line
    limit 200`.execute(db)
  return rows
}
