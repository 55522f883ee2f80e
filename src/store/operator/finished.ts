import { sql, type RawBuilder } from '../kysely.ts'
import type { Database } from '../database.ts'
import { only } from '../statement.ts'
import { counting, type Promises } from './question.ts'

/** Days whose sums the views read, and whose answers are here, with those before them that they are held against. */
const kept = sql`
  finished_days.made_at is not null
  and finished_days.basis = (select analysis.basis())
  and case when (select exists (select from archived_days)) then (
    finished_days.run_date not in (select archived_days.run_date from archived_days)
    and not exists (
      select
      from finished_steps
      join archived_days on archived_days.run_date = finished_steps.previous_run_date
      where finished_steps.finish_id = finished_days.id
    )
    and not exists (
      select
      from runs
      join tasks on tasks.run_id = runs.id and tasks.state in ('reused', 'not_asked')
      join searches on searches.id = tasks.search_id
      join tasks as own on own.id = searches.task_id
      join runs as bought on bought.id = own.run_id
      join archived_days on archived_days.run_date = bought.run_date
      where runs.run_date = finished_days.run_date
    )
  ) else true end`

/** How many finished days are added up again, drawn anew each time; null: all of them. */
export type DaySample = number | null

/** The days that a question looks at. */
function drawn(sample: DaySample): RawBuilder<unknown> {
  return sql`
    drawn as materialized (
      select finished_days.id, finished_days.run_date
      from finished_days
      where ${kept}
      order by random()
      limit ${sample}
    )`
}

interface Sums {
  readonly table: string
  /** The view that says the same from the answers, and the function that says it of one day. */
  readonly live: string
  readonly on: string
  readonly keys: readonly string[]
}

/** What the answers of the drawn days say: of a few, day by day; of all, in one reading. */
function fromAnswers({ live, on }: Sums, sample: DaySample): RawBuilder<unknown> {
  if (sample === null) {
    return sql`analysis.${sql.ref(live)} as live where run_date in (select run_date from drawn)`
  }
  return sql`drawn cross join lateral analysis.${sql.ref(on)}(drawn.run_date) as live`
}

/** Rows of a table of sums that say otherwise than the answers do, with those that are missing and those too many. */
function strays(
  of: Sums,
  { counts, sums }: { readonly counts: readonly string[]; readonly sums: readonly string[] },
  sample: DaySample,
): RawBuilder<{ violations: number }> {
  const columns = (table: string) =>
    sql.join(
      [...of.keys, ...counts, ...sums].map((name) => sql.ref(`${table}.${name}`)),
      sql`, `,
    )
  const keys = sql.join(
    of.keys.map((name) => sql.ref(name)),
    sql`, `,
  )
  const differ = counts.map(
    (name) => sql`there.${sql.ref(name)} is distinct from live.${sql.ref(name)}`,
  )
  // Added up in another order, the same numbers may differ in their last digit.
  const apart = sums.map(
    (name) => sql`abs(coalesce(there.${sql.ref(name)}, 0) - coalesce(live.${sql.ref(name)}, 0))
      > 1e-9 * greatest(1, abs(live.${sql.ref(name)}))`,
  )
  return counting(sql`
    from (
      with ${drawn(sample)}
      select
      from (
        select drawn.run_date, ${columns('sums')}
        from drawn
        join ${sql.table(of.table)} as sums on sums.finish_id = drawn.id
      ) as there
      full join (
        select live.run_date, ${columns('live')}
        from ${fromAnswers(of, sample)}
      ) as live using (run_date, ${keys})
      where ${sql.join([...differ, ...apart], sql` or `)}
    ) as astray`)
}

/** What is kept of finished days is what their answers say, row by row. */
export function finishedPromises(sample: DaySample): Promises {
  return {
    'each finished day counts the queries of its labels': strays(
      { table: 'finished_labels', live: 'live_labels', on: 'labels_on', keys: ['tag'] },
      { counts: ['queries', 'planned'], sums: ['weight', 'planned_weight'] },
      sample,
    ),
    'each finished day holds the shares that its answers give': strays(
      { table: 'finished_shares', live: 'live_shares', on: 'shares_on', keys: ['tag', 'domain'] },
      { counts: ['ranked', 'top_3', 'top_10', 'top_20'], sums: ['positions', 'clicks'] },
      sample,
    ),
    'each answer of a finished day differs from the one before as it is kept': strays(
      { table: 'finished_steps', live: 'live_steps', on: 'compared_on', keys: ['query_id'] },
      {
        counts: [
          ...['search_id', 'fetched_at', 'depth', 'places', 'entered', 'left_it', 'stayed'],
          ...['previous_search_id', 'previous_run_date', 'previous_depth'],
        ],
        sums: ['volatility'],
      },
      sample,
    ),
    'each page that a finished day showed is known with its query': unknownPages(sample),
  }
}

function unknownPages(sample: DaySample): RawBuilder<{ violations: number }> {
  return counting(sql`
    from (
      with ${drawn(sample)}
      select
      from drawn
      cross join lateral (
        select observations.search_id, observations.query_id
        from analysis.observations
        where observations.run_date = drawn.run_date
        offset 0
      ) as shown
      join organic_results on organic_results.search_id = shown.search_id
      where organic_results.page_id is not null
        and not exists (
          select
          from seen_pages
          where seen_pages.page_id = organic_results.page_id
            and seen_pages.query_id = shown.query_id
        )
    ) as astray`)
}

/** How many finished days there are to add up again. */
export async function countFinishedDays(db: Database): Promise<number> {
  const { rows } = await sql<{ days: number }>`
    select count(*) as days from finished_days where ${kept}`.execute(db)
  return only(rows).days
}
