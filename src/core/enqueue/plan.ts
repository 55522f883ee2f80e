// Writes a run with its tasks: new queries, members, what is reused, what rests.

import type { Database } from '../../base/database/database.ts'
import {
  type ControlledTransaction,
  type Kysely,
  type RawBuilder,
  sql,
  type Transaction,
} from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { only } from '../../base/database/sql-file.ts'
import { isDuplicate } from '../../base/database/trouble.ts'
import { Misuse } from '../../base/errors.ts'
import { awaitedLater } from '../../base/waiting.ts'
import {
  dropRemoved,
  findRemoved,
  noneRemoved,
  refuseShrunken,
  refuseUndecided,
} from './list-diff.ts'
import {
  countIdleWishes,
  countShares,
  knownList,
  type Planned,
  type PlanOrder,
  queuedWithTurns,
  refuseOtherSource,
  type RestOrder,
  restsOf,
  shareColumns,
  storeList,
  takeTurns,
} from './order.ts'
import { type Connections, heldName, rejectedName, wantedName } from './stage.ts'

/** The number of a list or run that is not there yet. */
const none = 0

interface Planning {
  readonly stage: number
  readonly order: PlanOrder
  /** False for a preview: everything is planned, and then undone. */
  readonly keep: boolean
  /** Called within the transaction of the run; what it throws undoes everything and comes out as it is. */
  readonly record?: ((trx: Transaction<DB>, run: number) => Promise<void>) | undefined
}

/**
 * Everything between the staged lines and the slices. The list is written in one transaction and its run in another,
 * at the same time. The list is committed first: a crash between the two leaves a list that was read and has no run.
 */
export async function planStaged(
  { held, wanted }: Connections,
  { stage, order, keep, record }: Planning,
): Promise<Planned> {
  const begun: ControlledTransaction<DB>[] = []
  const begin = async (connection: Kysely<DB>) => {
    const trx = await connection.startTransaction().execute()
    begun.push(trx)
    return trx
  }
  let storing: Promise<void> = Promise.resolve()
  try {
    const listTrx = await begin(held)
    const runTrx = await begin(wanted)
    await lockList(runTrx, order)
    await refuseOtherSource(runTrx, order)
    const list = keep
      ? await storeList(listTrx, order)
      : ((await knownList(listTrx, order.list))?.id ?? none)
    if (keep) storing = awaitedLater(storeHeld(listTrx, stage, { list, plain: order.plain }))
    const planned = await planRun(runTrx, { stage, list, keep }, order)
    if (keep) {
      refuseUndecided(planned, order.list)
      await record?.(runTrx, planned.run)
    }
    await storing
    // A connection that broke while the other one was at work is noticed here, before anything is committed. From here
    // on the row of the run is locked, which everybody who buys for it takes: nothing but the commits may follow.
    if (!keep) expectRoom(order, { run: planned.run, gone: planned.before.spent })
    if (keep && planned.dropped > 0) await dropRemoved(runTrx, planned.run)
    const done = keep
      ? await closeRun(runTrx, planned, order)
      : planned.queued === 0 && !(await hasWork(runTrx, planned.run))
    for (const trx of begun) await (keep ? trx.commit() : trx.rollback()).execute()
    return { ...planned, done }
  } catch (error) {
    await storing.catch(() => undefined)
    // The first error says more than that its connection is gone now.
    await Promise.allSettled(begun.map(async (trx) => trx.rollback().execute()))
    throw error
  }
}

/** Two readings of one list wait for each other: the second one finds the tasks of the first. */
async function lockList(trx: Transaction<DB>, { list }: PlanOrder): Promise<void> {
  const name = `querymill list ${list}`
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}::text, 0))`.execute(trx)
}

async function planRun(
  trx: Transaction<DB>,
  { stage, list, keep }: { stage: number; list: number; keep: boolean },
  order: PlanOrder,
): Promise<Omit<Planned, 'done'>> {
  await sql`set local work_mem = '64MB'`.execute(trx)
  const { run, joined } = await findRun(trx, list, { order, keep })
  const before = joined ? await readBefore(trx, run) : { spent: 0, open: 0 }
  await mergeDuplicates(trx, stage, { run, joined, list, order })
  await refuseShrunken(trx, list, order)
  const removed = joined && order.ifRemoved !== 'keep' ? await findRemoved(trx, run) : noneRemoved
  const dropped = order.ifRemoved === 'drop' ? removed.queries : 0
  const added = await addTasks(trx, run, { keep, joined, order })
  const { tasks, queued } = added
  const idleWishes = await countIdleWishes(trx, order)
  const accepted = await countAccepted(trx, stage, { single: order.single, tasks })
  const reasons = keep ? await storeRejections(trx, stage, run) : await countRejections(trx, stage)
  const rejected = reasons.reduce((sum, { lines }) => sum + lines, 0)
  const duplicates = order.usable - accepted
  const rows = order.usable + rejected
  const toBuy = await countClasses(trx, stage, { queued, request: order.request })
  const lines = { rows, accepted, duplicates, rejected, reasons }
  return { run, joined, ...lines, ...added, removed, dropped, idleWishes, before, toBuy }
}

/** Finds the open run that a list is planned into; a preview takes no number of a run, as making and undoing one would. */
async function findRun(
  trx: Transaction<DB>,
  list: number,
  { order, keep }: { order: PlanOrder; keep: boolean },
): Promise<Run> {
  const { kind, runDate, budget, maxAgeMs, into } = order
  const open = trx
    .selectFrom('runs')
    .select('id')
    .where('list_id', '=', list)
    .where('state', 'in', ['planning', 'open'])
  const joined =
    into !== null
      ? open.where('id', '=', into)
      : open.where('kind', '=', 'manual').where(sql.lit(kind === 'manual'))
  const found = await joined.executeTakeFirst()
  if (found !== undefined) return { run: found.id, joined: true }
  if (!keep) return { run: none, joined: false }
  const { id } = await trx
    .insertInto('runs')
    .values({
      list_id: list,
      run_date: runDate,
      kind,
      state: 'planning',
      budget: budget ?? null,
      max_age_ms: maxAgeMs,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return { run: id, joined: false }
}

async function hasWork(trx: Transaction<DB>, run: number): Promise<boolean> {
  const open = trx.selectFrom('slices').select('slice').where('run_id', '=', run)
  return (await open.where('done_at', 'is', null).limit(1).executeTakeFirst()) !== undefined
}

async function readBefore(trx: Transaction<DB>, run: number): Promise<Planned['before']> {
  return trx
    .selectFrom('runs')
    .where('id', '=', run)
    .select((eb) => [
      eb('spent', '+', eb.ref('reserved')).as('spent'),
      sql<number>`(select count(*) from tasks where run_id = ${run} and state = 'open')`.as('open'),
    ])
    .executeTakeFirstOrThrow()
}

const sliceSize = 25

/** Lines that gave a query first. */
async function countAccepted(
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

/** Tasks that may share a slice: those that rest or are reused lie in slices that nobody needs to queue. */
interface Group {
  readonly already: boolean
  readonly reused: boolean
  readonly rests: boolean
  readonly priority: number
  readonly tasks: number
  readonly slices: number
  /** Of these tasks, those whose answer cannot be read. */
  readonly unreadable: number
  /** True when a weight is named. */
  readonly weighted: boolean
  /** True when it is known when some of them were answered last, or that they wait too long. */
  readonly aged: boolean
  readonly first_slice: number
}

/** A task for each query that has none in the run, answered at once where an answer is young enough. */
async function addTasks(
  trx: Transaction<DB>,
  run: number,
  { keep, joined, order }: { keep: boolean; joined: boolean; order: RestOrder },
): Promise<
  Pick<Planned, 'tasks' | 'queued' | 'reused' | 'notAsked' | 'unreadable' | 'already' | 'shares'>
> {
  const groups = await groupTasks(trx, run)
  const wanted = groups.filter(({ already }) => keep && !already)
  for (const group of wanted) await addGroup(trx, run, { group, joined, order })
  const count = (counted: (group: Group) => boolean) =>
    groups.filter(counted).reduce((sum, { tasks }) => sum + tasks, 0)
  return {
    tasks: count(() => true),
    queued: count(({ already, reused, rests }) => !already && !reused && !rests),
    notAsked: count(({ rests }) => rests),
    reused: count(({ reused }) => reused),
    unreadable: groups.reduce((sum, { unreadable }) => sum + unreadable, 0),
    already: count(({ already }) => already),
    shares: await countShares(trx, order),
  }
}

/** Counts tasks and slices by what all tasks of a slice have in common. */
async function groupTasks(trx: Transaction<DB>, run: number): Promise<readonly Group[]> {
  const { rows } = await sql<Group>`
    select
      already, reused, rests, priority, tasks, slices, unreadable, weighted, aged,
      coalesce((select max(slice) from slices where run_id = ${run}), 0)
        + sum(slices) over (order by already, reused, rests, priority)
        - slices
        + 1 as first_slice
    from (
      select
        already, reused, rests, priority,
        count(*) as tasks, (count(*) + ${sliceSize} - 1) / ${sliceSize} as slices,
        count(*) filter (where unreadable) as unreadable, count(weight) > 0 as weighted,
        count(answered) > 0 or bool_or(overdue) as aged
      from pg_temp.merged
      group by already, reused, rests, priority
    ) as counted
    order by already, reused, rests, priority`.execute(trx)
  return rows
}

/** One group at a time: its tasks are mostly sorted by a single number, three times as fast as by what groups them. */
async function addGroup(
  trx: Transaction<DB>,
  run: number,
  { group, joined, order }: { group: Group; joined: boolean; order: RestOrder },
): Promise<void> {
  const { reused, rests, priority, slices, first_slice: first } = group
  const done = reused || rests
  const shared = order.shares.length > 0 && !done
  const usual = buyingOrder(group)
  // What has waited too long comes before all shares, and counts to them.
  const bought = shared ? sql`overdue desc, turn, ${usual}` : usual
  const finished = done ? sql`now()` : sql`null`
  // What a line takes may be younger than what its run takes: nobody looks at the line any more when it is bought.
  const after =
    order.wished && order.kind === 'nightly' && !done
      ? sql`now() - max_age_ms * interval '1 millisecond'`
      : sql`null::timestamptz`
  await sql`
    insert into tasks (run_id, query_id, search_id, state, finished_at, answers_after, slice, priority)
    select
      ${run}::bigint, id, search_id, ${rests ? 'not_asked' : reused ? 'reused' : 'open'}::text, ${finished}, ${after},
      ${first}::bigint + (row_number() over (order by ${bought}) - 1) / ${sliceSize}::integer,
      priority
    from ${shared ? queuedWithTurns(order, usual) : sql`pg_temp.merged`}
    where not already
      and reused = ${reused}
      and rests = ${rests}
      and priority = ${priority}
    order by ${bought}
    ${joined ? askedAfterAll : sql``}`.execute(trx)
  await sql`
    insert into slices (run_id, slice, priority, done_at)
    select ${run}::bigint, slice, ${priority}::smallint, ${finished}
    from generate_series(${first}::bigint, ${first}::bigint + ${slices}::bigint - 1) as slice
  `.execute(trx)
  if (order.part !== null && !done) await takeTurns(trx, run, { part: order.part, first })
}

/** A run that is joined let these rest so far, or dropped them; in a new one there is nothing to be looked for. */
const askedAfterAll = sql`
  on conflict (run_id, query_id) do update
  set search_id = excluded.search_id,
    state = excluded.state,
    finished_at = excluded.finished_at,
    answers_after = excluded.answers_after,
    slice = excluded.slice,
    priority = excluded.priority
  where tasks.state in ('not_asked', 'cancelled')`

/**
 * Orders tasks so that a stop leaves over the least: the heaviest queries come first, where weights are named, and of equal
 * ones those that were never asked and whose answers are oldest. What has waited more than twice its time waits no more.
 */
function buyingOrder({ weighted, aged, reused, rests }: Group) {
  if (aged && !reused && !rests) {
    return sql`overdue desc, weight desc nulls last, answered nulls first, ord`
  }
  return weighted ? sql`weight desc nulls last, ord` : sql`ord`
}

/** The tasks to be bought, by what their price depends on. */
async function countClasses(
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
      and not rests
    group by num, device
    order by num, device`.execute(trx)
  return rows
}

/** Writes the queries of a stage, and that the list holds them. */
async function storeHeld(
  trx: ControlledTransaction<DB>,
  stage: number,
  { list, plain }: { list: number; plain: boolean },
): Promise<void> {
  await sql`set local work_mem = '64MB'`.execute(trx)
  await sql`analyze ${heldName(stage)} (id)`.execute(trx)
  await storeQueries(trx, stage)
  await storeMembers(trx, { list, described: plain ? countMembers(stage) : describeMembers(stage) })
}

/**
 * Another planner hardly ever adds one of these queries at the same time, and to look for conflicts at each row costs a
 * third of writing them. When it happens the statement fails, and is repeated so that it passes over what is there.
 */
async function storeQueries(trx: ControlledTransaction<DB>, stage: number): Promise<void> {
  const saved = await trx.savepoint('queries').execute()
  try {
    await addQueries(saved, stage, sql``)
    await saved.releaseSavepoint('queries').execute()
  } catch (error) {
    if (!isDuplicate(error)) throw error
    await saved.rollbackToSavepoint('queries').execute()
    await addQueries(trx, stage, sql`on conflict do nothing`)
  }
}

/** In the order of their ids, as every writer of this table: so no two of them can wait for each other. */
async function addQueries(
  trx: Transaction<DB>,
  stage: number,
  otherwise: RawBuilder<unknown>,
): Promise<void> {
  await sql`
    insert into queries (id, key, q, location, hl, gl, num, device)
    select distinct on (id) id, key, q, location, hl, gl, num, device
    from ${heldName(stage)} as held
    where not exists (select from queries where queries.id = held.id)
    order by id
    ${otherwise}`.execute(trx)
}

/** Nobody else plans the list meanwhile: its members need no check for conflicts. */
async function storeMembers(
  trx: Transaction<DB>,
  { list, described }: { list: number; described: RawBuilder<unknown> },
): Promise<void> {
  const held = await trx
    .selectFrom('list_queries')
    .select('query_id')
    .where('list_id', '=', list)
    .limit(1)
    .executeTakeFirst()
  if (held === undefined) return addMembers(trx, list, sql`(${described})`)
  await sql`create temporary table members on commit drop as ${described}`.execute(trx)
  await sql`
    update list_queries
    set priority = members.priority,
      weight = members.weight,
      cpc = members.cpc,
      difficulty = members.difficulty,
      every_days = members.every_days,
      max_age_ms = members.max_age_ms,
      target_url = members.target,
      tags = members.tags,
      given = members.given,
      last_seen = now()
    from pg_temp.members
    where list_queries.list_id = ${list}
      and list_queries.query_id = members.id`.execute(trx)
  await addMembers(trx, list, sql`pg_temp.members`)
}

async function addMembers(
  trx: Transaction<DB>,
  list: number,
  members: RawBuilder<unknown>,
): Promise<void> {
  await sql`
    insert into list_queries
      (list_id, query_id, priority, weight, cpc, difficulty, every_days, max_age_ms, target_url, tags, given)
    select
      ${list}::bigint, id, priority, weight, cpc, difficulty, every_days, max_age_ms, target, tags, given
    from ${members} as members
    where not exists (
      select
      from list_queries
      where list_queries.list_id = ${list}
        and list_queries.query_id = members.id
    )
    order by id`.execute(trx)
}

/** For a list that gives its queries a priority and a weight at most: there are no labels and targets to merge. */
function countMembers(stage: number) {
  return sql`
    select
      id, min(priority) as priority, max(weight) as weight,
      max(cpc) as cpc, max(difficulty) as difficulty,
      min(every_days) as every_days, min(max_age_ms) as max_age_ms,
      null::text as target, '{}'::text[] as tags, null::text as given
    from ${heldName(stage)}
    group by id`
}

/** One row for each distinct query: the first line that gave it, the most urgent priority, the greatest weight. */
function describeMembers(stage: number) {
  const held = heldName(stage)
  return sql`
    with merged as (
      select
        id, min(ord) as ord, min(priority) as priority, max(weight) as weight,
        max(cpc) as cpc, max(difficulty) as difficulty,
        min(every_days) as every_days, min(max_age_ms) as max_age_ms
      from ${held}
      group by id
    ),
    labels as (
      select id, array_agg(distinct tag order by tag) as tags
      from ${held}
      cross join lateral unnest(string_to_array(tags, E'\\x1d')) as tag
      where tags is not null
      group by id
    ),
    targets as (
      select distinct on (id) id, target
      from ${held}
      where target is not null
      order by id, ord
    )
    select
      merged.id, merged.priority, merged.weight, merged.cpc, merged.difficulty,
      merged.every_days, merged.max_age_ms, targets.target,
      coalesce(labels.tags, '{}') as tags, held.given
    from merged
    join ${held} as held using (ord)
    left join labels on labels.id = merged.id
    left join targets on targets.id = merged.id`
}

/** The run that a list is planned into. */
interface Run {
  readonly run: number
  /** False for a run that was just made. */
  readonly joined: boolean
}

/**
 * One row for each distinct query of a stage: the first line that gave it, the most urgent priority, the greatest weight,
 * the shortest wishes, whether the run has it already, whether it rests, and the answer that can be used again or stands
 * in, if there is one.
 */
export async function mergeDuplicates(
  trx: Transaction<DB>,
  stage: number,
  { run, joined, list, order }: Run & { list: number; order: RestOrder },
): Promise<void> {
  const wanted = wantedName(stage)
  await sql`analyze ${wanted} (id)`.execute(trx)
  const already = joined
    ? sql`exists (select from tasks where tasks.run_id = ${run} and tasks.query_id = lines.id and ${isDecided(order)})`
    : sql`false`
  const { joins, rests, standIn, answered, overdue } = restsOf(list, order)
  const columns = shareColumns(order)
  await sql`
    create temporary table merged on commit drop as
    select
      lines.id, lines.ord, lines.priority, lines.weight, lines.every_days, lines.max_age_ms, known.already,
      case when rest.rests then ${standIn} else answer.id end as search_id, rest.rests,
      answer.id is not null as reused, coalesce(answer.unreadable, false) as unreadable,
      ${answered} as answered, ${overdue} as overdue ${columns.shown}
    from (
      select
        id, min(ord) as ord, min(priority) as priority, max(weight) as weight,
        min(every_days) as every_days, min(max_age_ms) as max_age_ms ${columns.merged}
      from ${wanted}
      group by id
    ) as lines
    cross join lateral (select ${already} as already) as known
    ${joins}
    cross join lateral (select ${rests} as rests) as rest
    left join lateral (${youngAnswer(order)}) as answer on not known.already and not rest.rests`.execute(
    trx,
  )
}

/** A query that a run let rest may be due on a later night that joins it, and one that was dropped may come back. */
function isDecided({ kind }: RestOrder) {
  return kind === 'nightly'
    ? sql`tasks.state not in ('not_asked', 'cancelled')`
    : sql`tasks.state <> 'cancelled'`
}

/** One that cannot be read is an answer all the same: it was paid for, and is kept to be read again. */
function youngAnswer({ kind, wished, maxAgeMs, origin, api }: RestOrder) {
  const own = wished && kind === 'nightly'
  if (maxAgeMs === 0 && !own) return sql`select null::bigint as id, null::boolean as unreadable`
  const age = own ? sql`coalesce(lines.max_age_ms, ${maxAgeMs}::bigint)` : sql`${maxAgeMs}::bigint`
  return sql`
    select id, parse_error is not null as unreadable
    from searches
    where searches.query_id = lines.id
      and searches.origin = ${origin}
      and searches.api = ${api}
      and searches.fetched_at > now() - ${age} * interval '1 millisecond'
      and not exists (select from quarantine where quarantine.search_id = searches.id)
    order by unreadable, searches.fetched_at desc
    limit 1`
}

/** A run keeps the rejected lines of the newest reading of its list. */
async function storeRejections(
  trx: Transaction<DB>,
  stage: number,
  run: number,
): Promise<Planned['reasons']> {
  const rejected = rejectedName(stage)
  await trx.deleteFrom('rejected_lines').where('run_id', '=', run).execute()
  await sql`
    insert into rejected_lines (run_id, line, reason, content)
    select ${run}::bigint, line, reason, content
    from ${rejected}
    order by line`.execute(trx)
  return countRejections(trx, stage)
}

/** The reasons of a stage, each with its lines. */
async function countRejections(trx: Transaction<DB>, stage: number): Promise<Planned['reasons']> {
  const { rows } = await sql<{ reason: string; lines: number }>`
    select reason, count(*) as lines
    from ${rejectedName(stage)}
    group by reason
    order by count(*) desc, reason`.execute(trx)
  return rows
}

/** The rejected lines of a run, page by page, in the order of the file. */
export async function* rejectedLines(
  db: Database,
  run: number,
): AsyncGenerator<readonly { line: number; reason: string; content: string }[]> {
  const size = 2000
  for (let offset = 0; ; offset += size) {
    const rows = await db
      .selectFrom('rejected_lines')
      .select(['line', 'reason', 'content'])
      .where('run_id', '=', run)
      .orderBy('line')
      .orderBy('reason')
      .limit(size)
      .offset(offset)
      .execute()
    if (rows.length === 0) return
    yield rows
  }
}

/**
 * Writes what a plan came to into the row of its run; a run that ended meanwhile goes on. A typed budget becomes the budget
 * of the run. A night that joins an older run leaves it no more than the budget of the night, beside what it has used.
 */
async function closeRun(
  trx: Transaction<DB>,
  { run, rows: lines, accepted, duplicates, rejected }: Omit<Planned, 'done'>,
  order: PlanOrder,
): Promise<boolean> {
  const { into, maxAgeMs } = order
  const budget = sql`${order.budget ?? null}::bigint`
  const { rows } = await sql<{ state: string; gone: number }>`
    with work as (
      select exists (select from slices where run_id = ${run} and done_at is null) as left_over
    )
    update runs
    set rows = ${lines},
      accepted = ${accepted},
      duplicates = ${duplicates},
      rejected = ${rejected},
      max_age_ms = ${maxAgeMs},
      budget = case
        when ${budget} is null then budget
        when ${into}::bigint is null then ${budget}
        else least(budget, spent + reserved + ${budget})
      end,
      state = case when left_over then 'open' else 'done' end,
      finished_at = case when left_over then null else now() end
    from work
    where runs.id = ${run}
      and runs.state <> 'cancelled'
    returning state, spent + reserved as gone`.execute(trx)
  const [closed] = rows
  if (closed === undefined) {
    throw new Misuse(
      `expected run ${run} to stay open while the list was planned, got a cancelled one; nothing was planned: type the same again for a new run`,
    )
  }
  expectRoom(order, { run, gone: closed.gone })
  return closed.state === 'done'
}

/** Refuses a budget that is smaller than what the run that is joined has used: it could not be kept any more. */
function expectRoom(
  { list, budget, into }: Pick<PlanOrder, 'list' | 'budget' | 'into'>,
  { run, gone }: { run: number; gone: number },
): void {
  if (typeof budget !== 'number' || into !== null || gone <= budget) return
  throw new Misuse(
    `expected a budget of at least ${gone} credits for run ${run} of ${list}, which is open and is added to, got ${budget}: ${gone} are used or held; nothing was planned: type --budget with what the run may use in all, or end it first: npm run cancel -- --run ${run}`,
  )
}
