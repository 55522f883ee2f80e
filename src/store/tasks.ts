import { sql, type Transaction } from 'kysely'
import { stagedName } from './lists.ts'
import type { Planned, PlanOrder } from './order.ts'
import { only } from './rows.ts'
import type { DB } from './schema.ts'

const sliceSize = 25

/** A task for each query that has none in the run, answered at once where an answer is young enough. */
export async function addTasks(
  trx: Transaction<DB>,
  { run, joined }: { run: number; joined: boolean },
  order: PlanOrder,
): Promise<{ queued: number; reused: number }> {
  await findMissing(trx, { run, joined }, order)
  // Reused tasks lie in slices of their own, which nobody needs to queue.
  await sql`
    insert into tasks (run_id, query_id, search_id, state, finished_at, slice, priority)
    select
      ${run}::bigint, id, search_id,
      case when search_id is null then 'open' else 'reused' end,
      case when search_id is not null then now() end,
      dense_rank() over (order by search_id is not null, priority, place)
        + (select coalesce(max(slice), 0) from slices where run_id = ${run}),
      priority
    from (
      select
        *,
        (row_number() over (partition by search_id is not null, priority order by ord) - 1)
          / ${sliceSize}::integer as place
      from pg_temp.missing
    ) as numbered
    order by search_id is not null, priority, ord`.execute(trx)
  await sql`
    insert into slices (run_id, slice, priority, done_at)
    select ${run}::bigint, slice, min(priority), case when bool_or(state = 'open') then null else now() end
    from tasks
    where run_id = ${run}
      and slice > (select coalesce(max(slice), 0) from slices where run_id = ${run})
    group by slice
    order by slice`.execute(trx)
  const { rows } = await sql<{ queued: number; reused: number }>`
    select
      count(*) filter (where search_id is null) as queued,
      count(search_id) as reused
    from pg_temp.missing`.execute(trx)
  return only(rows)
}

/** The queries that have no task in the run yet, each with the answer that can be used again, if there is one. */
async function findMissing(
  trx: Transaction<DB>,
  { run, joined }: { run: number; joined: boolean },
  { maxAgeMs, origin, api }: PlanOrder,
): Promise<void> {
  const answer =
    maxAgeMs === 0
      ? sql`select null::bigint as id`
      : sql`
        select id
        from searches
        where searches.query_id = merged.id
          and searches.origin = ${origin}
          and searches.api = ${api}
          and searches.parse_error is null
          and searches.fetched_at > now() - ${maxAgeMs}::bigint * interval '1 millisecond'
        order by searches.fetched_at desc
        limit 1`
  const existing = joined
    ? sql`where not exists (
        select
        from tasks
        where tasks.run_id = ${run}
          and tasks.query_id = merged.id
      )`
    : sql``
  await sql`
    create temporary table missing on commit drop as
    select merged.id, merged.ord, merged.priority, answer.id as search_id
    from pg_temp.merged
    left join lateral (${answer}) as answer on true
    ${existing}`.execute(trx)
  await sql`analyze pg_temp.missing`.execute(trx)
}

/** The tasks to be bought, by what their price depends on. */
export async function countClasses(
  trx: Transaction<DB>,
  stage: number,
  { queued, request }: { queued: number; request: PlanOrder['request'] },
): Promise<Planned['toBuy']> {
  if (queued === 0) return []
  if (request !== null) return [{ ...request, tasks: queued }]
  const { rows } = await sql<{ num: number; device: string | null; tasks: number }>`
    select num, device, count(*) as tasks
    from pg_temp.missing
    join ${stagedName(stage)} as staged using (ord)
    where search_id is null
    group by num, device
    order by num, device`.execute(trx)
  return rows
}
