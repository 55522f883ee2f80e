import { sql, type Transaction } from 'kysely'
import type { Database } from './database.ts'
import { rejectedName, stagedName } from './lists.ts'
import type { DB } from './schema.ts'

export type Origin = 'live' | 'test' | 'sandbox'

/** What a list is to become. */
export interface PlanOrder {
  readonly list: string
  /** Null: as it was. */
  readonly source: string | null
  readonly kind: 'manual' | 'nightly'
  readonly runDate: string
  /** Undefined leaves the budget of a run that is joined as it is. */
  readonly budget: number | null | undefined
  readonly maxAgeMs: number
  /** An answer is reused only for the same origin and API. */
  readonly origin: Origin
  readonly api: string
  /** A run to add to, whatever its kind; null: the open manual run of the list, or a new one. */
  readonly into: number | null
  /** Lines of the file that gave queries. */
  readonly usable: number
  /** True when every usable line gave exactly one query. */
  readonly single: boolean
}

/** What became of a list. */
export interface Planned {
  readonly run: number
  /** True when an open run was added to. */
  readonly joined: boolean
  readonly rows: number
  readonly accepted: number
  readonly duplicates: number
  readonly rejected: number
  readonly tasks: number
  readonly queued: number
  readonly reused: number
  readonly already: number
  readonly done: boolean
  readonly reasons: readonly { readonly reason: string; readonly lines: number }[]
  /** Tasks to be bought, by the parameters that prices depend on. */
  readonly toBuy: readonly {
    readonly num: number
    readonly device: string | null
    readonly tasks: number
  }[]
}

const sliceSize = 25

/** Everything between the staged lines and the slices, inside the transaction of the caller. */
export async function planStaged(
  trx: Transaction<DB>,
  stage: number,
  order: PlanOrder,
): Promise<Planned> {
  await sql`set local work_mem = '64MB'`.execute(trx)
  const list = await lockList(trx, order)
  const merged = await mergeDuplicates(trx, stage, order)
  await storeQueries(trx, stage)
  await storeMembers(trx, stage, list)
  const { run, joined } = await findRun(trx, list, order)
  const added = await addTasks(trx, run, joined, order)
  const reasons = await storeRejections(trx, stage, run)
  const rejected = reasons.reduce((sum, { lines }) => sum + lines, 0)
  const duplicates = order.usable - merged.accepted
  const rows = order.usable + rejected
  const done = await closeRun(trx, run, { rows, accepted: merged.accepted, duplicates, rejected })
  return {
    run,
    joined,
    rows,
    accepted: merged.accepted,
    duplicates,
    rejected,
    tasks: merged.tasks,
    queued: added.queued,
    reused: added.reused,
    already: merged.tasks - added.queued - added.reused,
    done,
    reasons,
    toBuy: await countClasses(trx, stage, added.queued),
  }
}

async function lockList(trx: Transaction<DB>, { list, source }: PlanOrder): Promise<number> {
  await sql`
    insert into lists (name, source)
    values (${list}, ${source ?? ''})
    on conflict (name) do nothing`.execute(trx)
  // Two readings of one list wait for each other here: the second one finds the tasks of the first.
  const { rows } = await sql<{ id: number }>`
    select id
    from lists
    where name = ${list}
    for update`.execute(trx)
  const id = only(rows).id
  await sql`
    update lists
    set source = ${source}::text
    where id = ${id}
      and source <> ${source}::text`.execute(trx)
  return id
}

async function mergeDuplicates(
  trx: Transaction<DB>,
  stage: number,
  { usable, single }: PlanOrder,
): Promise<{ tasks: number; accepted: number }> {
  const staged = stagedName(stage)
  await sql`analyze ${staged}`.execute(trx)
  await sql`drop table if exists pg_temp.merged, pg_temp.missing`.execute(trx)
  await sql`
    create temporary table merged on commit drop as
    select id, min(ord) as ord, min(priority) as priority, max(weight) as weight, count(*) as lines
    from ${staged}
    group by id`.execute(trx)
  await sql`analyze pg_temp.merged`.execute(trx)
  const { rows } = await sql<{ tasks: number }>`
    select count(*) as tasks
    from pg_temp.merged`.execute(trx)
  const { tasks } = only(rows)
  if (single) return { tasks, accepted: Math.min(tasks, usable) }
  const lines = await sql<{ accepted: number }>`
    select count(distinct staged.line) as accepted
    from ${staged} as staged
    join pg_temp.merged using (ord)`.execute(trx)
  return { tasks, accepted: only(lines.rows).accepted }
}

/** In the order of their ids, like everybody who adds to this table: two of us never wait for each other in a ring. */
async function storeQueries(trx: Transaction<DB>, stage: number): Promise<void> {
  await sql`
    insert into queries (id, key, q, location, hl, gl, num, device)
    select staged.id, key, q, location, hl, gl, num, device
    from ${stagedName(stage)} as staged
    join pg_temp.merged using (ord)
    order by staged.id
    on conflict do nothing`.execute(trx)
}

async function storeMembers(trx: Transaction<DB>, stage: number, list: number): Promise<void> {
  const staged = stagedName(stage)
  await sql`
    with labels as (
      select id, array_agg(distinct tag order by tag) as tags
      from ${staged}
      cross join lateral unnest(string_to_array(tags, E'\x1d')) as tag
      where tags is not null
      group by id
    ),
    targets as (
      select distinct on (id) id, target
      from ${staged}
      where target is not null
      order by id, ord
    )
    insert into list_queries (list_id, query_id, priority, weight, target_url, tags, given)
    select
      ${list}::bigint, merged.id, merged.priority, merged.weight, targets.target,
      coalesce(labels.tags, '{}'), staged.given
    from pg_temp.merged
    join ${staged} as staged using (ord)
    left join labels on labels.id = merged.id
    left join targets on targets.id = merged.id
    order by merged.id
    on conflict (list_id, query_id) do update
    set priority = excluded.priority,
      weight = excluded.weight,
      target_url = excluded.target_url,
      tags = excluded.tags,
      given = excluded.given,
      last_seen = excluded.last_seen`.execute(trx)
}

async function findRun(
  trx: Transaction<DB>,
  list: number,
  { kind, runDate, budget, maxAgeMs, into }: PlanOrder,
): Promise<{ run: number; joined: boolean }> {
  const open = await sql<{ id: number }>`
    update runs
    set max_age_ms = ${maxAgeMs},
      budget = case when ${budget === undefined} then budget else ${budget ?? null}::bigint end
    where list_id = ${list}
      and state in ('planning', 'open')
      and case
        when ${into}::bigint is null then kind = 'manual' and ${kind} = 'manual'
        else id = ${into}::bigint
      end
    returning id`.execute(trx)
  const [found] = open.rows
  if (found !== undefined) return { run: found.id, joined: true }
  const { rows } = await sql<{ id: number }>`
    insert into runs (list_id, run_date, kind, state, budget, max_age_ms)
    values (${list}, ${runDate}, ${kind}, 'planning', ${budget ?? null}, ${maxAgeMs})
    returning id`.execute(trx)
  return { run: only(rows).id, joined: false }
}

async function addTasks(
  trx: Transaction<DB>,
  run: number,
  joined: boolean,
  order: PlanOrder,
): Promise<{ queued: number; reused: number }> {
  await findMissing(trx, run, joined, order)
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
  run: number,
  joined: boolean,
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

/** A run keeps the rejected lines of the newest reading of its list. */
async function storeRejections(
  trx: Transaction<DB>,
  stage: number,
  run: number,
): Promise<Planned['reasons']> {
  const rejected = rejectedName(stage)
  await sql`delete from rejected_lines where run_id = ${run}`.execute(trx)
  await sql`
    insert into rejected_lines (run_id, line, reason, content)
    select ${run}::bigint, line, reason, content
    from ${rejected}
    order by line`.execute(trx)
  const { rows } = await sql<{ reason: string; lines: number }>`
    select reason, count(*) as lines
    from ${rejected}
    group by reason
    order by count(*) desc, reason`.execute(trx)
  return rows
}

async function closeRun(
  trx: Transaction<DB>,
  run: number,
  counts: { rows: number; accepted: number; duplicates: number; rejected: number },
): Promise<boolean> {
  const { rows } = await sql<{ state: string }>`
    with work as (
      select exists (select from slices where run_id = ${run} and done_at is null) as left_over
    )
    update runs
    set rows = ${counts.rows},
      accepted = ${counts.accepted},
      duplicates = ${counts.duplicates},
      rejected = ${counts.rejected},
      state = case when left_over then 'open' else 'done' end,
      finished_at = case when left_over then null else now() end
    from work
    where runs.id = ${run}
    returning state`.execute(trx)
  return only(rows).state === 'done'
}

async function countClasses(
  trx: Transaction<DB>,
  stage: number,
  queued: number,
): Promise<Planned['toBuy']> {
  if (queued === 0) return []
  const { rows } = await sql<{ num: number; device: string | null; tasks: number }>`
    select num, device, count(*) as tasks
    from pg_temp.missing
    join ${stagedName(stage)} as staged using (ord)
    where search_id is null
    group by num, device
    order by num, device`.execute(trx)
  return rows
}

function only<T>(rows: readonly T[]): T {
  const [row] = rows
  if (row === undefined) throw new Error('expected a row, got none')
  return row
}

/** The rejected lines of a run, page by page, in the order of the file. */
export async function* rejectedLines(
  db: Database,
  run: number,
): AsyncGenerator<readonly { line: number; reason: string; content: string }[]> {
  const size = 2000
  for (let offset = 0; ; offset += size) {
    const { rows } = await sql<{ line: number; reason: string; content: string }>`
      select line, reason, content
      from rejected_lines
      where run_id = ${run}
      order by line, reason
      limit ${size}
      offset ${offset}`.execute(db)
    if (rows.length === 0) return
    yield rows
  }
}
