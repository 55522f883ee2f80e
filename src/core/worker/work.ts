// Starts a worker with its parts, and ends it.

import { reaching } from '../../base/database/trouble.ts'
import { late, pause, within } from '../../base/waiting.ts'
import { refuseSkew } from '../ledger/leases.ts'
import { readFunds } from '../ledger/prices.ts'
import type { Entry } from '../ledger/settle.ts'
import { knownBalance, leftUnaffordable, standingStop } from '../ledger/standstill.ts'
import type { Mill } from '../mill.ts'
import { type AfterRuns, closeAndJudge } from '../nights/after-runs.ts'
import type { Consumer } from '../queue/slice-jobs.ts'
import { closeRuns } from '../queue/open-slices.ts'
import { countFailures } from '../runs/waits.ts'
import { idleMs, Upkeep, Waits } from './duties.ts'
import { Worker, type WorkerOptions } from './worker.ts'
import { keep } from './spool.ts'
import type { Finish, Prices, Summary } from './summary.ts'

export interface WorkOptions extends WorkerOptions {
  /** True: ends when nothing is open, or when the account stands still. */
  readonly drain: boolean
  readonly signal: AbortSignal
  /** What follows the end of runs; usually they are closed and judged. */
  readonly afterRuns?: AfterRuns
  /** Called with the worker some times a second. */
  readonly onTick?: (worker: Worker) => void
}

const tickMs = 200
/** A drain gives up on a part that stays away this long; with everything put away it ends within 40 s. */
const giveUpMs = 18_000
/** A database that says nothing for so long is out of reach, although no connection broke. */
const silentMs = 5_000
const putAwayMs = 5_000

/** Works until stopped, or until there is nothing left to do; gives back what was done and why it ended. */
export async function work(mill: Mill, options: WorkOptions): Promise<Summary> {
  await reaching('the database', () => refuseSkew(mill.db))
  const queue = await mill.queue()
  const worker = await reaching('the database', () => Worker.open(mill, options))
  worker.tally.expect(await reaching('the database', () => readPrices(mill)))
  const upkeep = Upkeep.start(mill, worker, { afterRuns: closeAndJudge, ...options })
  await closeRuns(mill.db)
  const consumer = queue.consume((job) => worker.handle(job), worker.slots)
  let finish: Finish = 'interrupted'
  try {
    finish = await waitForEnd(mill, { worker, upkeep, options })
  } finally {
    await putAway(mill, { worker, consumer, options })
    upkeep.stop()
  }
  if (worker.fatal !== null) throw worker.fatal
  const summary = worker.tally.sum(finish)
  if (worker.outages.mute) return summary
  const told = await within(askTables(mill, worker), { ms: putAwayMs })
  return told === late ? summary : { ...summary, ...told }
}

/** What calls have cost lately, class by class. */
async function readPrices({ db, supplier }: Mill): Promise<Prices> {
  const { costs } = await readFunds(db, { name: supplier.account, kind: supplier.origin })
  return new Map(
    costs.flatMap(({ class: kind, average }) => (average === null ? [] : [[kind, average]])),
  )
}

/** What the tables know better than this worker, which sees only what it did itself. */
async function askTables({ db }: Mill, { clerk, tally }: Worker): Promise<Partial<Summary>> {
  const failures = await countFailures(db, [...tally.runs])
  return {
    credits_remaining: await knownBalance(db, clerk.account),
    run_failures: Object.values(failures).reduce((sum, count) => sum + count, 0),
    failures,
  }
}

async function waitForEnd(
  mill: Mill,
  { worker, upkeep, options }: { worker: Worker; upkeep: Upkeep; options: WorkOptions },
): Promise<Finish> {
  const waits = new Waits(mill, options.tell)
  const look = async () => {
    const open = await upkeep.look()
    if (open === true && options.drain) await waits.look(worker)
    return options.drain ? drained(mill, { worker, options }, open) : null
  }
  let looking: Promise<Finish | null> | null = null
  while (!options.signal.aborted && worker.fatal === null) {
    await pause(tickMs, options.signal)
    options.onTick?.(worker)
    looking ??= look()
    const finish = await within(looking, { ms: silentMs, signal: options.signal })
    if (finish !== late) looking = null
    else if (!options.signal.aborted) fallSilent(worker, options)
    if (options.drain && worker.outages.longerThan(giveUpMs) !== null) return 'unreachable'
    if (finish !== late && finish !== null) return finish
  }
  return 'interrupted'
}

function fallSilent({ outages }: Worker, { tell }: WorkOptions): void {
  if (!outages.away('the database')) tell('the database is silent: it is taken for out of reach')
  outages.mark('the database', true)
}

/** Why a drain is over; null while it is not. */
async function drained(
  mill: Mill,
  { worker, options }: { worker: Worker; options: WorkOptions },
  open: boolean | null,
): Promise<Finish | null> {
  if (open === null || worker.dispatch.flying > 0) return null
  const { standstill } = worker.dispatch
  if (standstill !== null && worker.dispatch.inHand > 0) {
    if (standstill.reason !== 'rate') return standstill.reason
    return worker.tally.stillFor > mill.config.stallMs ? 'stalled' : null
  }
  if (worker.handling > 0) return null
  if (!open) {
    if (await worker.lost.hopes()) return null
    await (options.afterRuns ?? closeAndJudge)(mill, options.tell)
    return (await leftUnaffordable(mill.db, worker.tally.age)) === null ? 'completed' : 'budget'
  }
  // Other workers hold the slices that are left, and hand none back while the account stands still.
  if (worker.idleFor < idleMs) return null
  const { account, key, floor } = worker.clerk
  return standingStop(mill.db, { account, key, floor })
}

/** Writes paid answers into a file; what is lost ends the worker once all else is put away. */
function keepLeft(
  mill: Mill,
  worker: Worker,
  { left, tell }: { left: readonly Entry[]; tell: (line: string) => void },
): void {
  const { clerk, reserve } = worker
  const { file, kept, lost } = keep(mill, { account: clerk.account, reserve }, left)
  if (file !== null) {
    tell(
      `${kept} paid answers could not be written to the database; they are kept in ${file} and settled first at the next start`,
    )
  }
  if (lost === null) return
  tell(lost.message)
  worker.fatal = lost
}

/** Lets calls in flight come back, hands slices back to the queue, and leaves no paid answer in memory. */
async function putAway(
  mill: Mill,
  { worker, consumer, options }: { worker: Worker; consumer: Consumer; options: WorkOptions },
): Promise<void> {
  const stopped = consumer.pause()
  worker.end()
  if (worker.dispatch.flying > 0) {
    options.tell(
      `waiting for ${worker.dispatch.flying} calls in flight; again to abandon them (they may be charged)`,
    )
  }
  // A gate in a database that is out of reach lets nothing through any more.
  const atGate = () => worker.dispatch.atGate && !worker.outages.mute
  const allBack = () => !atGate() && worker.dispatch.flying === worker.batch.size
  await until(allBack, mill.config.timeoutMs + putAwayMs)
  await worker.cut()
  await until(() => worker.batch.size === 0 && worker.handling === 0, putAwayMs)
  const left = worker.batch.abandon()
  if (left.length > 0) keepLeft(mill, worker, { left, tell: options.tell })
  worker.reserve.release()
  await stopped
  await consumer.close()
  if (worker.outages.mute) return
  const closed = await within(worker.lease.close(), { ms: putAwayMs })
  if (closed === late) worker.outages.mark('the database', true)
}

async function until(done: () => boolean, withinMs: number): Promise<void> {
  const end = performance.now() + withinMs
  while (!done() && performance.now() < end) await pause(20)
}
