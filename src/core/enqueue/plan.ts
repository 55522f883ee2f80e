// Writes a run with its new queries, list members and tasks, including reused answers and queries not asked.

import { npmRun } from '../../base/cli/commands.ts'
import type { Database } from '../../base/database/database.ts'
import {
  type AliasableExpression,
  countOf,
  type ControlledTransaction,
  type Kysely,
  type OnConflictBuilder,
  type OrderByItemBuilder,
  sql,
  type Transaction,
} from '../../base/database/kysely.ts'
import { lockList } from '../../base/database/lock.ts'
import type { DB } from '../../base/database/schema.ts'
import { readRows, statement } from '../../base/database/sql-file.ts'
import { codeOf, Misuse } from '../../base/errors.ts'
import { awaitedLater } from '../../base/waiting.ts'
import type { Rejection } from '../lists/rows.ts'
import { dropRemoved, findRemoved, refuseShrunken, refuseUndecided } from './list-diff.ts'
import {
  type BuyingOrder,
  countUnusedIntervals,
  countShares,
  isQueued,
  knownList,
  mergingOf,
  type PlanOrder,
  type Purchase,
  refuseOtherSource,
  storeList,
  turnOf,
} from './order.ts'
import { type Connections, stageName, type StageTables } from './stage.ts'
import type { Staged } from './staging.ts'

/** Placeholder id of a list or run that does not exist yet. */
const none = 0

export type Planned = Awaited<ReturnType<typeof planStaged>>

/**
 * Writes the list and its run concurrently in two transactions. The list is committed first, so a crash between the
 * commits leaves a list without a run. If `keep` is false, the plan is a preview, and all changes are rolled back.
 */
export async function planStaged(
  { held, wanted }: Connections,
  { stage: { number: stage }, order, record }: Omit<Staged, 'read'>,
  keep: boolean,
) {
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
    // Serialises concurrent plans of one list, so that the second plan finds the first plan's tasks.
    await lockList(runTrx, order.list)
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
    // The next statements run before any commit, so they also fail if the run's connection broke while the list
    // was stored. These statements lock the run and make workers wait, so only the commits may follow.
    if (!keep) expectRoom(order, { run: planned.run, gone: planned.before.spent })
    if (keep && planned.dropped > 0) await dropRemoved(runTrx, planned.run)
    const done = keep
      ? await closeRun(runTrx, planned, order)
      : planned.queued === 0 && !(await hasWork(runTrx, planned.run))
    for (const trx of begun) await (keep ? trx.commit() : trx.rollback()).execute()
    return { ...planned, done }
  } catch (error) {
    await storing.catch(() => undefined)
    // The first error is more useful than a later error about a broken connection.
    await Promise.allSettled(begun.map(async (trx) => trx.rollback().execute()))
    throw error
  }
}

async function planRun(
  trx: Transaction<DB>,
  { stage, list, keep }: { stage: number; list: number; keep: boolean },
  order: PlanOrder,
) {
  await sql`set local work_mem = '64MB'`.execute(trx)
  const { run, joined, before } = await findRun(trx, list, { order, keep })
  await mergeDuplicates(trx, stage, { run, joined, list, order })
  await refuseShrunken(trx, list, order)
  const removed =
    joined && order.ifRemoved !== 'keep'
      ? await findRemoved(trx, run)
      : { queries: 0, examples: [], byPrice: [] }
  const dropped = order.ifRemoved === 'drop' ? removed.queries : 0
  const added = await addTasks(trx, run, { keep, joined, order })
  const { tasks, queued } = added
  const unusedIntervals = await countUnusedIntervals(trx, order)
  const accepted = await countAccepted(trx, stage, { single: order.single, tasks })
  const reasons = keep ? await storeRejections(trx, stage, run) : await countRejections(trx, stage)
  const rejected = reasons.reduce((sum, { lines }) => sum + lines, 0)
  const duplicates = order.usable - accepted
  const rows = order.usable + rejected
  const toBuy = await countClasses(trx, stage, { queued, request: order.request })
  const lines = { rows, accepted, duplicates, rejected, reasons }
  return { run, joined, ...lines, ...added, removed, dropped, unusedIntervals, before, toBuy }
}

/** Finds the open run to which the list is added, with its used credits and open tasks, or inserts a new run. */
async function findRun(
  trx: Transaction<DB>,
  list: number,
  { order, keep }: { order: PlanOrder; keep: boolean },
) {
  const { kind, runDate, budget, maxAgeMs, into } = order
  const open = trx
    .selectFrom('runs')
    .where('list_id', '=', list)
    .where('state', 'in', ['planning', 'open'])
    .select((eb) => [
      'id',
      'budget_used as spent',
      eb
        .selectFrom('tasks')
        .whereRef('tasks.run_id', '=', 'runs.id')
        .where('tasks.state', '=', 'open')
        .select(eb.fn.countAll<number>().as('n'))
        .$asScalar()
        .$notNull()
        .as('open'),
    ])
  const joined =
    into !== null
      ? open.where('id', '=', into)
      : open.where('kind', '=', 'manual').where(sql.lit(kind === 'manual'))
  const found = await joined.executeTakeFirst()
  if (found !== undefined) {
    return { run: found.id, joined: true, before: { spent: found.spent, open: found.open } }
  }
  const before = { spent: 0, open: 0 }
  // A rolled-back insert would consume a run id.
  if (!keep) return { run: none, joined: false, before }
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
  return { run: id, joined: false, before }
}

async function hasWork(trx: Transaction<DB>, run: number): Promise<boolean> {
  const slices = trx.selectFrom('slices').where('run_id', '=', run).where('done_at', 'is', null)
  return (await slices.select('slice').limit(1).execute()).length > 0
}

const sliceSize = 25

/** Counts the lines whose query does not occur in an earlier line. */
async function countAccepted(
  trx: Transaction<DB>,
  stage: number,
  { single, tasks }: { single: boolean; tasks: number },
): Promise<number> {
  if (single) return tasks
  const accepted = trx
    .withTables<StageTables>()
    .selectFrom(`${stageName('staged_wanted', stage)} as wanted`)
    .innerJoin('merged', 'merged.ord', 'wanted.ord')
    .select('wanted.line')
    .distinct()
  return countOf(trx, accepted)
}

/** Tasks that may share a slice. Slices are not queued if their tasks are reused or not asked. */
interface Group {
  readonly already: boolean
  readonly reused: boolean
  readonly rests: boolean
  readonly priority: number
  readonly tasks: number
  readonly slices: number
  /** Number of reused answers that can't be read. */
  readonly unreadable: number
  readonly weighted: boolean
  /** True if any task is overdue or was answered before. */
  readonly aged: boolean
  readonly first_slice: number
}

async function addTasks(
  trx: Transaction<DB>,
  run: number,
  { keep, joined, order }: { keep: boolean; joined: boolean; order: PlanOrder },
) {
  const parameters = { run, slice_size: sliceSize }
  const groups = await readRows<Group>(trx, 'group_tasks', parameters)
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

const taskColumns = [
  ...(['run_id', 'query_id', 'search_id', 'state', 'finished_at'] as const),
  ...(['answers_after', 'slice', 'priority'] as const),
]

/** Sorting each group separately is three times as fast as one sort that includes the group columns. */
async function addGroup(
  trx: Transaction<DB>,
  run: number,
  { group, joined, order }: { group: Group; joined: boolean; order: PlanOrder },
): Promise<void> {
  const { reused, rests, priority, slices, first_slice: first } = group
  const done = reused || rests
  const insert = trx
    .insertInto('tasks')
    .columns(taskColumns)
    .expression(tasksOf(trx, run, { group, done, order }))
  await (joined ? insert.onConflict(askAfterAll) : insert).execute()
  const last = first + slices - 1
  await trx.executeQuery(statement('add_slices', { run, first, last, priority, done }))
  if (order.part === null || done) return
  await trx.executeQuery(statement('take_turns', { run, part: order.part, first }))
}

function tasksOf(
  trx: Transaction<DB>,
  run: number,
  { group, done, order }: { group: Group; done: boolean; order: PlanOrder },
) {
  const { reused, rests, priority, first_slice: first } = group
  const shared = order.shares.length > 0 && !done
  const usual = buyingOrder(group)
  // Overdue queries are bought first, but their cost counts toward the shares.
  const bought = shared ? ([['overdue', 'desc'], ['turn'], ...usual] as const) : usual
  const merged = trx.withTables<StageTables>().selectFrom('merged')
  const lines = (shared ? merged.where(isQueued) : merged).selectAll().select((eb) => {
    const turn: AliasableExpression<number> = shared ? turnOf(order, usual) : eb.lit(0)
    return turn.as('turn')
  })
  // The time of the oldest reusable answer is stored, because the line's maximum age is not read again.
  const aged = order.wished && order.kind === 'nightly' && !done
  const tasks = trx
    .selectFrom(lines.as('lines'))
    .where((eb) => eb.not(eb.ref('already')))
    .where('reused', '=', reused)
    .where('rests', '=', rests)
    .where('priority', '=', priority)
    .select((eb) => {
      const finished: AliasableExpression<Date | null> = done ? eb.fn<Date>('now') : eb.lit(null)
      const after: AliasableExpression<Date | null> = aged
        ? sql`now() - ${eb.ref('max_age_ms')} * interval '1 millisecond'`
        : eb.lit(null)
      const row = eb.fn
        .agg<number>('row_number')
        .over((over) => bought.reduce((all, [column, how]) => all.orderBy(column, how), over))
      return [
        eb.val(run).as('run_id'),
        'id',
        'search_id',
        eb.val(rests ? 'not_asked' : reused ? 'reused' : 'open').as('state'),
        finished.as('finished_at'),
        after.as('answers_after'),
        eb(eb.val(first), '+', eb(eb.parens(row, '-', 1), '/', eb.lit(sliceSize))).as('slice'),
        'priority',
      ]
    })
  return bought.reduce((all, [column, how]) => all.orderBy(column, how), tasks)
}

/** Updates the tasks of queries that a joined run had skipped or dropped. */
function askAfterAll(conflict: OnConflictBuilder<DB, 'tasks'>) {
  return conflict
    .columns(['run_id', 'query_id'])
    .doUpdateSet((eb) => ({
      search_id: eb.ref('excluded.search_id'),
      state: eb.ref('excluded.state'),
      finished_at: eb.ref('excluded.finished_at'),
      answers_after: eb.ref('excluded.answers_after'),
      slice: eb.ref('excluded.slice'),
      priority: eb.ref('excluded.priority'),
    }))
    .where('tasks.state', 'in', ['not_asked', 'cancelled'])
}

/**
 * Sorts the least valuable tasks last, in case buying stops. Overdue queries come first, then the highest weights, then
 * queries without an answer, then the oldest answers.
 */
function buyingOrder({ weighted, aged, reused, rests }: Group): BuyingOrder {
  const heaviest = ['weight', (order: OrderByItemBuilder) => order.desc().nullsLast()] as const
  if (aged && !reused && !rests) {
    const oldest = ['answered', (order: OrderByItemBuilder) => order.asc().nullsFirst()] as const
    return [['overdue', 'desc'], heaviest, oldest, ['ord']]
  }
  return weighted ? [heaviest, ['ord']] : [['ord']]
}

async function countClasses(
  trx: Transaction<DB>,
  stage: number,
  { queued, request }: { queued: number; request: PlanOrder['request'] },
): Promise<readonly Purchase[]> {
  if (queued === 0) return []
  if (request !== null) return [{ ...request, tasks: queued }]
  return trx
    .withTables<StageTables>()
    .selectFrom('merged')
    .innerJoin(`${stageName('staged_wanted', stage)} as wanted`, 'wanted.ord', 'merged.ord')
    .where(isQueued)
    .groupBy(['num', 'device'])
    .orderBy('num')
    .orderBy('device')
    .select(({ fn }) => ['num', 'device', fn.countAll<number>().as('tasks')])
    .execute()
}

async function storeHeld(
  trx: ControlledTransaction<DB>,
  stage: number,
  { list, plain }: { list: number; plain: boolean },
): Promise<void> {
  await sql`set local work_mem = '64MB'`.execute(trx)
  await sql`analyze ${sql.id(stageName('staged_held', stage))} (id)`.execute(trx)
  await storeQueries(trx, stage)
  const held = stageName('staged_held', stage)
  await trx.executeQuery(statement('store_members', { list, plain }, { held }))
}

/**
 * Inserts queries without checking each row for conflicts, because the checks would take a third of the time. If
 * another planner inserts the same query at the same time, the statement fails and is retried with the checks.
 */
async function storeQueries(trx: ControlledTransaction<DB>, stage: number): Promise<void> {
  const saved = await trx.savepoint('queries').execute()
  try {
    await addQueries(saved, stage).execute()
    await saved.releaseSavepoint('queries').execute()
  } catch (error) {
    const isUniqueViolation = codeOf(error) === '23505'
    if (!isUniqueViolation) throw error
    await saved.rollbackToSavepoint('queries').execute()
    await addQueries(trx, stage)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
}

/** Inserts queries in the order of their ids, as every writer of this table does, to avoid deadlocks. */
function addQueries(trx: Transaction<DB>, stage: number) {
  const columns = ['id', 'key', 'q', 'location', 'hl', 'gl', 'num', 'device'] as const
  const staged = trx.withTables<StageTables>()
  const missing = staged
    .selectFrom(`${stageName('staged_held', stage)} as held`)
    .distinctOn('id')
    .select(columns)
    .where((eb) =>
      eb.not(eb.exists(eb.selectFrom('queries').whereRef('queries.id', '=', 'held.id'))),
    )
    .orderBy('id')
  return staged.insertInto('queries').columns(columns).expression(missing)
}

/** Creates the `merged` table, with one row for each distinct query. */
export async function mergeDuplicates(
  trx: Transaction<DB>,
  stage: number,
  { order, ...place }: { run: number; joined: boolean; list: number; order: PlanOrder },
): Promise<void> {
  const wanted = stageName('staged_wanted', stage)
  await sql`analyze ${sql.id(wanted)} (id)`.execute(trx)
  const parameters = { ...place, ...mergingOf(order) }
  await trx.executeQuery(statement('merge_duplicates', parameters, { wanted }))
}

/** Replaces the rejected lines from the previous read. */
async function storeRejections(trx: Transaction<DB>, stage: number, run: number) {
  await trx.deleteFrom('rejected_lines').where('run_id', '=', run).execute()
  const staged = trx.withTables<StageTables>()
  await staged
    .insertInto('rejected_lines')
    .columns(['run_id', 'line', 'reason', 'content'])
    .expression(
      staged
        .selectFrom(stageName('staged_rejected', stage))
        .select((eb) => [eb.val(run).as('run_id'), 'line', 'reason', 'content'])
        .orderBy('line'),
    )
    .execute()
  return countRejections(trx, stage)
}

async function countRejections(
  trx: Transaction<DB>,
  stage: number,
): Promise<readonly { readonly reason: string; readonly lines: number }[]> {
  return trx
    .withTables<StageTables>()
    .selectFrom(stageName('staged_rejected', stage))
    .groupBy('reason')
    .select(({ fn }) => ['reason', fn.countAll<number>().as('lines')])
    .orderBy('lines', 'desc')
    .orderBy('reason')
    .execute()
}

/** Pages through a run's rejected lines in file order. */
export async function* rejectedLines(db: Database, run: number): AsyncGenerator<Rejection[]> {
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
 * Writes the result to the run; reopens the run if it has ended in the meantime. A nightly run that joins an older run
 * may spend its budget in addition to the credits that the older run has used.
 */
async function closeRun(
  trx: Transaction<DB>,
  { run, rows: lines, accepted, duplicates, rejected }: Awaited<ReturnType<typeof planRun>>,
  order: PlanOrder,
): Promise<boolean> {
  const { into, maxAgeMs, budget } = order
  const closed = await trx
    .with('work', (cte) =>
      cte.selectNoFrom((eb) => {
        const open = eb.selectFrom('slices').where('run_id', '=', run).where('done_at', 'is', null)
        return eb.exists(open).as('left_over')
      }),
    )
    .updateTable('runs')
    .from('work')
    .set({ rows: lines, accepted, duplicates, rejected, max_age_ms: maxAgeMs })
    .set((eb) => ({
      ...(typeof budget === 'number' && {
        budget:
          into === null
            ? budget
            : eb.fn<number>('least', ['budget', eb('budget_used', '+', budget)]),
      }),
      state: eb.case().when(eb.ref('left_over')).then('open').else('done').end(),
      finished_at: eb.case().when(eb.ref('left_over')).then(null).else(eb.fn<Date>('now')).end(),
    }))
    .where('runs.id', '=', run)
    .where('runs.state', '<>', 'cancelled')
    .returning(['state', 'budget_used as gone'])
    .executeTakeFirst()
  if (closed === undefined) {
    throw new Misuse(
      `run ${run} was cancelled while the list was being planned, so nothing was planned; run the same command again to start a new run`,
    )
  }
  expectRoom(order, { run, gone: closed.gone })
  return closed.state === 'done'
}

function expectRoom(
  { list, budget, into }: Pick<PlanOrder, 'list' | 'budget' | 'into'>,
  { run, gone }: { run: number; gone: number },
): void {
  if (typeof budget !== 'number' || into !== null || gone <= budget) return
  throw new Misuse(
    `expected a budget of at least ${gone} credits for the open run ${run} of ${list}, which has already used or held them, got ${budget}, so nothing was planned; set --budget to the total that the run may use, or cancel the run first: ${npmRun('cancel --')} --run ${run}`,
  )
}
