import { sql, type Transaction } from '../kysely.ts'
import type { Planned, PlanOrder } from './order.ts'
import { only } from '../statement.ts'
import type { DB } from '../schema.ts'
import { wantedName } from './staged-tables.ts'

const sliceSize = 25

/** The run that a list is planned into. */
export interface Run {
  readonly run: number
  /** False for a run that was just made. */
  readonly joined: boolean
}

/** Which answers may be used again. */
type Reuse = Pick<PlanOrder, 'maxAgeMs' | 'origin' | 'api'>

/**
 * One row for each distinct query of a stage: the first line that gave it, the most urgent priority, the greatest weight,
 * whether the run
 * has it already, and the answer that can be used again, if there is one.
 */
export async function mergeDuplicates(
  trx: Transaction<DB>,
  stage: number,
  { run, joined, order }: Run & { order: Reuse },
): Promise<void> {
  const wanted = wantedName(stage)
  await sql`analyze ${wanted} (id)`.execute(trx)
  const already = joined
    ? sql`exists (select from tasks where tasks.run_id = ${run} and tasks.query_id = lines.id)`
    : sql`false`
  await sql`
    create temporary table merged on commit drop as
    select
      lines.id, lines.ord, lines.priority, lines.weight, known.already,
      answer.id as search_id, answer.id is not null as reused, coalesce(answer.unreadable, false) as unreadable
    from (
      select id, min(ord) as ord, min(priority) as priority, max(weight) as weight
      from ${wanted}
      group by id
    ) as lines
    cross join lateral (select ${already} as already) as known
    left join lateral (${youngAnswer(order)}) as answer on not known.already`.execute(trx)
}

/** One that cannot be read is an answer all the same: it was paid for, and is kept to be read again. */
function youngAnswer({ maxAgeMs, origin, api }: Reuse) {
  if (maxAgeMs === 0) return sql`select null::bigint as id, null::boolean as unreadable`
  return sql`
    select id, parse_error is not null as unreadable
    from searches
    where searches.query_id = lines.id
      and searches.origin = ${origin}
      and searches.api = ${api}
      and searches.fetched_at > now() - ${maxAgeMs}::bigint * interval '1 millisecond'
    order by unreadable, searches.fetched_at desc
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

/** Tasks that may share a slice: reused ones lie in slices that nobody needs to queue. */
interface Group {
  readonly already: boolean
  readonly reused: boolean
  readonly priority: number
  readonly tasks: number
  readonly slices: number
  /** Of these tasks, those whose answer cannot be read. */
  readonly unreadable: number
  /** True when a weight is named. */
  readonly weighted: boolean
  readonly first_slice: number
}

/** A task for each query that has none in the run, answered at once where an answer is young enough. */
export async function addTasks(
  trx: Transaction<DB>,
  run: number,
  keep: boolean,
): Promise<{ queued: number; reused: number; unreadable: number; already: number }> {
  const groups = await groupTasks(trx, run)
  const wanted = groups.filter(({ already }) => keep && !already)
  for (const group of wanted) await addGroup(trx, run, group)
  const count = (counted: (group: Group) => boolean) =>
    groups.filter(counted).reduce((sum, { tasks }) => sum + tasks, 0)
  return {
    queued: count(({ already, reused }) => !already && !reused),
    reused: count(({ reused }) => reused),
    unreadable: groups.reduce((sum, { unreadable }) => sum + unreadable, 0),
    already: count(({ already }) => already),
  }
}

/** Counts tasks and slices by what all tasks of a slice have in common. */
async function groupTasks(trx: Transaction<DB>, run: number): Promise<readonly Group[]> {
  const { rows } = await sql<Group>`
    select
      already, reused, priority, tasks, slices, unreadable, weighted,
      coalesce((select max(slice) from slices where run_id = ${run}), 0)
        + sum(slices) over (order by already, reused, priority)
        - slices
        + 1 as first_slice
    from (
      select
        already, reused, priority,
        count(*) as tasks, (count(*) + ${sliceSize} - 1) / ${sliceSize} as slices,
        count(*) filter (where unreadable) as unreadable, count(weight) > 0 as weighted
      from pg_temp.merged
      group by already, reused, priority
    ) as counted
    order by already, reused, priority`.execute(trx)
  return rows
}

/**
 * One group at a time: its tasks are sorted by a single number, which is three times as fast as by what groups them. Where
 * weights are named, the heaviest come first: what a stop leaves over is worth least.
 */
async function addGroup(
  trx: Transaction<DB>,
  run: number,
  { reused, priority, slices, weighted, first_slice: first }: Group,
): Promise<void> {
  const order = weighted ? sql`weight desc nulls last, ord` : sql`ord`
  const finished = reused ? sql`now()` : sql`null`
  await sql`
    insert into tasks (run_id, query_id, search_id, state, finished_at, slice, priority)
    select
      ${run}::bigint, id, search_id, ${reused ? 'reused' : 'open'}::text, ${finished},
      ${first}::bigint + (row_number() over (order by ${order}) - 1) / ${sliceSize}::integer,
      priority
    from pg_temp.merged
    where not already
      and reused = ${reused}
      and priority = ${priority}
    order by ${order}`.execute(trx)
  await sql`
    insert into slices (run_id, slice, priority, done_at)
    select ${run}::bigint, slice, ${priority}::smallint, ${finished}
    from generate_series(${first}::bigint, ${first}::bigint + ${slices}::bigint - 1) as slice
  `.execute(trx)
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
