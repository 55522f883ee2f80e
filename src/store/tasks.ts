import { sql, type Transaction } from 'kysely'
import type { Planned, PlanOrder } from './order.ts'
import { only } from './rows.ts'
import type { DB } from './schema.ts'
import { wantedName } from './staged-tables.ts'

const sliceSize = 25

/** The run that a list is planned into. */
export interface Run {
  readonly run: number
  /** False for a run that was just made. */
  readonly joined: boolean
}

/**
 * One row for each distinct query of a stage: the first line that gave it, the most urgent priority, whether the run
 * has it already, and the answer that can be used again, if there is one.
 */
export async function mergeDuplicates(
  trx: Transaction<DB>,
  stage: number,
  { run, joined, order }: Run & { order: PlanOrder },
): Promise<void> {
  const wanted = wantedName(stage)
  await sql`analyze ${wanted}`.execute(trx)
  const already = joined
    ? sql`exists (select from tasks where tasks.run_id = ${run} and tasks.query_id = lines.id)`
    : sql`false`
  await sql`
    create temporary table merged on commit drop as
    select
      lines.id, lines.ord, lines.priority, known.already,
      answer.id as search_id, answer.id is not null as reused
    from (
      select id, min(ord) as ord, min(priority) as priority
      from ${wanted}
      group by id
    ) as lines
    cross join lateral (select ${already} as already) as known
    left join lateral (${youngAnswer(order)}) as answer on not known.already`.execute(trx)
  await sql`analyze pg_temp.merged`.execute(trx)
}

function youngAnswer({ maxAgeMs, origin, api }: PlanOrder) {
  if (maxAgeMs === 0) return sql`select null::bigint as id`
  return sql`
    select id
    from searches
    where searches.query_id = lines.id
      and searches.origin = ${origin}
      and searches.api = ${api}
      and searches.parse_error is null
      and searches.fetched_at > now() - ${maxAgeMs}::bigint * interval '1 millisecond'
    order by searches.fetched_at desc
    limit 1`
}

/** Lines that gave a query first. */
export async function countAccepted(
  trx: Transaction<DB>,
  stage: number,
  { single, tasks }: { single: boolean; tasks: number },
): Promise<number> {
  if (single) return tasks
  const { rows } = await sql<{ accepted: number }>`
    select count(distinct wanted.line) as accepted
    from ${wantedName(stage)} as wanted
    join pg_temp.merged using (ord)`.execute(trx)
  return only(rows).accepted
}

/** A task for each query that has none in the run, answered at once where an answer is young enough. */
export async function addTasks(
  trx: Transaction<DB>,
  run: number,
): Promise<{ queued: number; reused: number; already: number }> {
  const counts = await groupTasks(trx, run)
  await sql`
    insert into tasks (run_id, query_id, search_id, state, finished_at, slice, priority)
    select
      ${run}::bigint, id, search_id,
      case when reused then 'reused' else 'open' end,
      case when reused then now() end,
      first_slice
        + (row_number() over (partition by reused, priority order by ord) - 1) / ${sliceSize}::integer,
      priority
    from pg_temp.merged
    join pg_temp.groups using (already, reused, priority)
    where not already
    order by reused, priority, ord`.execute(trx)
  await sql`
    insert into slices (run_id, slice, priority, done_at)
    select ${run}::bigint, slice, priority, case when reused then now() end
    from pg_temp.groups
    cross join generate_series(first_slice, first_slice + slices - 1) as slice
    where not already
    order by slice`.execute(trx)
  return counts
}

/** Counts tasks and slices by what keeps slices apart: reused tasks lie in slices that nobody needs to queue. */
async function groupTasks(
  trx: Transaction<DB>,
  run: number,
): Promise<{ queued: number; reused: number; already: number }> {
  await sql`
    create temporary table groups on commit drop as
    select
      already, reused, priority, tasks, slices,
      coalesce((select max(slice) from slices where run_id = ${run}), 0)
        + sum(slices) over (order by already, reused, priority)
        - slices
        + 1 as first_slice
    from (
      select
        already, reused, priority,
        count(*) as tasks, (count(*) + ${sliceSize} - 1) / ${sliceSize} as slices
      from pg_temp.merged
      group by already, reused, priority
    ) as counted`.execute(trx)
  const { rows } = await sql<{ queued: number; reused: number; already: number }>`
    select
      coalesce(sum(tasks) filter (where not already and not reused), 0) as queued,
      coalesce(sum(tasks) filter (where reused), 0) as reused,
      coalesce(sum(tasks) filter (where already), 0) as already
    from pg_temp.groups`.execute(trx)
  return only(rows)
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
    from pg_temp.merged
    join ${wantedName(stage)} as wanted using (ord)
    where not already
      and not reused
    group by num, device
    order by num, device`.execute(trx)
  return rows
}
