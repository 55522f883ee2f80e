import {
  sql,
  type ControlledTransaction,
  type Kysely,
  type RawBuilder,
  type Transaction,
} from '../kysely.ts'
import { closeRun, expectRoom } from './closing.ts'
import { knownList, refuseOtherSource, storeList } from './lists.ts'
import { storeHeld } from './members.ts'
import { mergeDuplicates, type Run } from './merge.ts'
import type { Planned, PlanOrder } from './order.ts'
import { countIdleWishes } from './rests.ts'
import { countRejections, storeRejections } from './rejected.ts'
import { only } from '../statement.ts'
import type { DB } from '../schema.ts'
import type { Connections } from './staged-tables.ts'
import { addTasks, countAccepted, countClasses } from './tasks.ts'
import { awaitedLater } from '../../shared/waiting.ts'

/** The number of a list or run that is not there yet. */
const none = 0

/** What is to become of a stage. */
export interface Planning {
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
    if (keep) await record?.(runTrx, planned.run)
    await storing
    // A connection that broke while the other one was at work is noticed here, before anything is committed. From here
    // on the row of the run is locked, which everybody who buys for it takes: nothing but the commits may follow.
    if (!keep) expectRoom(order, { run: planned.run, gone: planned.before.spent })
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
  const { run, joined } = keep ? await findRun(trx, list, order) : await lookUpRun(trx, list, order)
  const before = joined ? await readBefore(trx, run) : { spent: 0, open: 0 }
  await mergeDuplicates(trx, stage, { run, joined, list, order })
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
  return { run, joined, ...lines, ...added, idleWishes, before, toBuy }
}

/** The run that a preview would add to: looking takes no number of a run, as making and undoing one would. */
async function lookUpRun(
  trx: Transaction<DB>,
  list: number,
  { kind, into }: PlanOrder,
): Promise<Run> {
  const { rows } = await sql<{ id: number }>`
    select id
    from runs
    where list_id = ${list}
      and state in ('planning', 'open')
      and ${isJoined({ kind, into })}`.execute(trx)
  const [found] = rows
  return { run: found?.id ?? none, joined: found !== undefined }
}

function isJoined({ kind, into }: Pick<PlanOrder, 'kind' | 'into'>): RawBuilder<boolean> {
  return sql<boolean>`case
      when ${into}::bigint is null then kind = 'manual' and ${kind} = 'manual'
      else id = ${into}::bigint
    end`
}

async function hasWork(trx: Transaction<DB>, run: number): Promise<boolean> {
  const { rows } = await sql<{ left: boolean }>`
    select exists (select from slices where run_id = ${run} and done_at is null) as left
  `.execute(trx)
  return only(rows).left
}

async function findRun(
  trx: Transaction<DB>,
  list: number,
  { kind, runDate, budget, maxAgeMs, into }: PlanOrder,
): Promise<Run> {
  const open = await sql<{ id: number }>`
    select id
    from runs
    where list_id = ${list}
      and state in ('planning', 'open')
      and ${isJoined({ kind, into })}`.execute(trx)
  const [found] = open.rows
  if (found !== undefined) return { run: found.id, joined: true }
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

async function readBefore(trx: Transaction<DB>, run: number): Promise<Planned['before']> {
  const { rows } = await sql<Planned['before']>`
    select
      spent + reserved as spent,
      (select count(*) from tasks where run_id = ${run} and state = 'open') as open
    from runs
    where id = ${run}`.execute(trx)
  return only(rows)
}
