import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import type { ReadSpan } from './span.ts'

/** Whose days are read. */
export interface QuerySpan extends Pick<ReadSpan, 'since' | 'until'> {
  readonly query: string
}

/** What became of a query in one run. */
export interface QueryDay {
  readonly runDate: string
  readonly run: number
  readonly listId: number
  readonly list: string
  readonly state: string
  readonly errorCode: string | null
  /** Text of the query whose answer was lent to this one, as it was not asked; null: none. */
  readonly lentBy: string | null
  /** The readable answer of the day; null: there is none that is shown. */
  readonly search: number | null
  /** Why there is none: `suspect`, `unreadable`, `archived`, `hidden` (of a kind that is not shown), or the state of the task. */
  readonly silence: string | null
  readonly depth: number | null
  readonly evidence: string | null
  readonly fetchedAt: Date | null
  readonly calls: number
  readonly credits: number
}

/** Every run that asked a query, the newest first, with the answer of its day and what it cost. */
export async function readQueryDays(
  db: Database,
  { query, since, until }: QuerySpan,
): Promise<readonly QueryDay[]> {
  const { rows } = await sql<QueryDay>`
    select
      runs.run_date as "runDate", runs.id as run, runs.list_id as "listId", lists.name as list, tasks.state,
      tasks.error_code as "errorCode", lenders.q as "lentBy", observed.search_id as search,
      case
        when observed.search_id is not null then null
        when tasks.state not in ('answered', 'reused', 'not_asked') then tasks.state
        when searches.parse_error is not null then 'unreadable'
        when runs.run_date in (select run_date from analysis.away_days) or searches.archived then 'archived'
        when runs.suspect then 'suspect'
        else 'hidden'
      end as silence,
      observed.depth, observed.evidence,
      observed.fetched_at as "fetchedAt", spent.calls, spent.credits
    from runs
    join lists on lists.id = runs.list_id
    join tasks on tasks.run_id = runs.id and tasks.query_id = ${query}
    left join searches on searches.id = tasks.search_id
    left join lendings
      on lendings.list_id = runs.list_id
      and lendings.run_date = runs.run_date
      and lendings.query_id = tasks.query_id
      and tasks.state = 'not_asked'
    left join queries as lenders on lenders.id = lendings.lent_by
    left join (
      select *
      from analysis.observations
      where observations.query_id = ${query}
        and observations.run_date between ${since}::date and ${until}::date
      offset 0
    ) as observed on observed.run_date = runs.run_date
    cross join lateral (
      select
        count(*) filter (where outcome is distinct from 'unsent') as calls,
        coalesce(sum(credits_used), 0) as credits
      from calls
      where calls.task_id = tasks.id
    ) as spent
    where runs.run_date between ${since}::date and ${until}::date
    order by runs.run_date desc, runs.id desc`.execute(db)
  return rows
}

/** The best place of a domain on a day. A day without a row had an answer without the domain, or no answer. */
export interface DayRank {
  readonly runDate: string
  readonly domain: string
  readonly position: number
}

/** Where some domains stood for a query, day by day. */
export async function readDayRanks(
  db: Database,
  { query, since, until }: QuerySpan,
  domains: readonly string[],
): Promise<readonly DayRank[]> {
  const { rows } = await sql<DayRank>`
    select observed.run_date as "runDate", result_domains.domain, min(result_domains.position) as position
    from (
      select *
      from analysis.observations
      where observations.query_id = ${query}
        and observations.run_date between ${since}::date and ${until}::date
      offset 0
    ) as observed
    join public.result_domains on result_domains.search_id = observed.search_id
    where result_domains.domain = any (${domains}::text[])
      and result_domains.position is not null
    group by observed.run_date, result_domains.domain
    order by observed.run_date, result_domains.domain`.execute(db)
  return rows
}

/** Domains that are ours on a day, and after them those that stand highest in an answer. */
export async function readInteresting(
  db: Database,
  { search, day }: { readonly search: number | null; readonly day: string },
): Promise<readonly { readonly domain: string; readonly ours: boolean }[]> {
  const { rows } = await sql<{ domain: string; ours: boolean }>`
    select domain, bool_or(ours) as ours
    from (
      select domain, true as ours, 0 as position
      from analysis.ours_on(${day}::date)
      union all
      select domain, false, position
      from public.result_domains
      where search_id = ${search}
        and position is not null
        and domain is not null
    ) as known
    group by domain
    order by bool_or(ours) desc, max(position), domain
    limit 20`.execute(db)
  return rows.map(({ domain, ours }) => ({ domain, ours }))
}
