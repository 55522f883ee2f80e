import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

/** The share of voice of a domain on a day, and how much stands behind it. */
export interface ShareDay {
  readonly run_date: string
  readonly domain: string
  readonly share: number
  readonly queries: number
  readonly depth: number
}

/**
 * The newest days on which a list, or any, was asked and of which every run is judged and none suspect, oldest first: up
 * to the given day, or to a later one that was looked at before.
 */
export async function readShareDays(
  trx: Database,
  list: string | null,
  { until, limit }: { readonly until: string; readonly limit: number },
): Promise<readonly string[]> {
  const { rows } = await sql<{ run_date: string }>`
    select runs.run_date
    from runs
    join lists on lists.id = runs.list_id
    left join night_health as health on health.run_id = runs.id
    where runs.run_date <= greatest(${until}::date, (
        select max(looked.run_date)
        from night_health as health
        join runs as looked on looked.id = health.run_id
        join lists as other on other.id = looked.list_id
        where health.alerts_at is not null
          and (${list}::text is null or other.name = ${list}::text)
      ))
      and (${list}::text is null or lists.name = ${list}::text)
    group by runs.run_date
    having bool_and(
      not runs.suspect
      and runs.state in ('done', 'cancelled')
      and coalesce(health.judged_at >= runs.finished_at, false)
    )
    order by runs.run_date desc
    limit ${limit}`.execute(trx)
  return rows.map(({ run_date: date }) => date).toReversed()
}

/** Shares of a label that some domains have on one day, as analysis.share_of_voice has them; none: nothing of it was asked. */
export async function readSharesOn(
  trx: Database,
  { tag, date }: { readonly tag: string; readonly date: string },
  domains: readonly string[],
): Promise<readonly ShareDay[]> {
  const { rows } = await sql<ShareDay>`
    select
      ${date}::date as run_date, wanted.domain, coalesce(held.share_of_voice, 0) as share, asked.queries, asked.depth
    from (
      select
        count(*) as queries,
        count(*) filter (where observations.evidence <> 'not asked') as fresh,
        coalesce(avg(nullif(observations.depth, 0)), 0)::float8 as depth
      from analysis.observations
      join analysis.query_tags using (query_id, run_date)
      where observations.run_date = ${date}::date
        and query_tags.run_date = ${date}::date
        and query_tags.tag = ${tag}
    ) as asked
    cross join unnest(${[...domains]}::text[]) as wanted (domain)
    -- Nobody has a row who ranks for nothing, unless the domain is ours.
    left join analysis.share_of_voice as held
      on held.run_date = ${date}::date
      and held.tag = ${tag}
      and held.domain = wanted.domain
    -- Where all of it rested, nothing new is known of its share.
    where asked.fresh > 0`.execute(trx)
  return rows
}

/** The domain whose share of a label grew most from one day to another; null: none did. */
export async function readGainer(
  trx: Database,
  { tag, before, date }: { readonly tag: string; readonly before: string; readonly date: string },
): Promise<string | null> {
  const { rows } = await sql<{ domain: string }>`
    select now.domain
    from analysis.share_of_voice as now
    left join analysis.share_of_voice as old
      on old.run_date = ${before}::date
      and old.tag = ${tag}
      and old.domain = now.domain
    where now.run_date = ${date}::date
      and now.tag = ${tag}
      and now.share_of_voice > coalesce(old.share_of_voice, 0)
    order by now.share_of_voice - coalesce(old.share_of_voice, 0) desc, now.domain
    limit 1`.execute(trx)
  return rows[0]?.domain ?? null
}

/** Makes this transaction see the shares of one kind of answers. */
export async function showOrigin(trx: Database, origin: string): Promise<void> {
  await sql`select set_config('querymill.origins', ${origin}, true)`.execute(trx)
}

/** Where the answers of a run come from; null: it has none. */
export async function readRunOrigin(trx: Database, run: number): Promise<string | null> {
  const { rows } = await sql<{ origin: string }>`
    select searches.origin
    from tasks
    join searches on searches.id = tasks.search_id
    where tasks.run_id = ${run}
      and searches.parse_error is null
    order by searches.id desc
    limit 1`.execute(trx)
  return rows[0]?.origin ?? null
}
