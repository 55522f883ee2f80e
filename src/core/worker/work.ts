// Starts a worker and its components, and shuts them down.

import { count } from '../../base/cli/text.ts'
import { probeDatabase } from '../../base/database/database.ts'
import { reaching, untilAnswered } from '../../base/database/trouble.ts'
import { Unreachable } from '../../base/errors.ts'
import { late, pause, within } from '../../base/waiting.ts'
import { refuseSkew } from '../ledger/leases.ts'
import type { Entry } from '../ledger/settle.ts'
import { leftUnaffordable, activeStop } from '../ledger/standstill.ts'
import type { Mill } from '../mill.ts'
import { type AfterRuns, closeAndJudge } from '../nights/after-runs.ts'
import type { Consumer } from '../queue/slice-jobs.ts'
import { readAccount } from '../runs/status.ts'
import { countFailures } from '../runs/waits.ts'
import { idleMs, Upkeep, type Waits, watchWaits } from './duties.ts'
import { Worker, type WorkerOptions } from './worker.ts'
import { logFolder } from './write-ahead-log.ts'
import type { Finish, Summary } from './summary.ts'

export type WorkOptions = WorkerOptions & {
  /** If true, the worker ends when no task is open or the account is stopped. */
  readonly drain: boolean
  readonly signal: AbortSignal
  /** Called when runs have ended. By default, these runs are closed and judged. */
  readonly afterRuns?: AfterRuns
  readonly onTick?: (worker: Worker) => void
}

const tickMs = 200
/** Time after which a drain gives up on an unreachable system. The drain then ends within 40 s, shutdown included. */
const giveUpMs = 18_000
/** Time after which a silent database is considered unreachable, even if no connection broke. */
const silentMs = 5_000
const putAwayMs = 5_000

/** Works until stopped or until nothing is left to do. Returns the results and the reason why the worker ended. */
export async function work(mill: Mill, options: WorkOptions): Promise<Summary> {
  const reach = reachUntil(performance.now() + giveUpMs, options.signal)
  await reach(() => refuseSkew(mill.db))
  const queue = await mill.queue()
  const worker = await reach(() => Worker.open(mill, options))
  const upkeep = new Upkeep(worker, options.afterRuns ?? closeAndJudge)
  const consumer = queue.consume((job) => worker.handle(job), worker.slots)
  let finish: Finish = 'interrupted'
  try {
    finish = await waitForEnd(worker, upkeep, options)
  } finally {
    await putAway(worker, consumer)
    upkeep.stop()
  }
  if (worker.fatal !== null) throw worker.fatal
  const summary = worker.tally.sum(finish)
  if (worker.outages.mute) return summary
  const told = await within(askTables(worker), { ms: putAwayMs })
  return told === late ? summary : { ...summary, ...told }
}

/** Retries startup steps while the database is slow or busy. Throws an error if the database stays unreachable. */
function reachUntil(end: number, signal: AbortSignal) {
  const over = () => signal.aborted || performance.now() >= end
  return <T>(ask: () => Promise<T>): Promise<T> =>
    reaching('the database', () => untilAnswered(ask, over))
}

/** Reads the parts of the summary that only the database holds. */
async function askTables({ mill: { db, supplier }, tally }: Worker): Promise<Partial<Summary>> {
  const account = await readAccount(db, { name: supplier.account, kind: supplier.origin })
  const failures = await countFailures(db, [...tally.runs])
  return {
    credits_remaining: account?.remaining ?? null,
    run_failures: Object.values(failures).reduce((sum, tasks) => sum + tasks, 0),
    failures,
  }
}

async function waitForEnd(worker: Worker, upkeep: Upkeep, options: WorkOptions): Promise<Finish> {
  const waits = watchWaits(worker)
  const look = async () => {
    const open = await upkeep.look()
    if (open === true && options.drain) await waits.look()
    return options.drain ? drained(worker, { waits, options, open }) : null
  }
  let looking: Promise<Finish | null> | null = null
  while (!options.signal.aborted && worker.fatal === null) {
    await pause(tickMs, options.signal)
    options.onTick?.(worker)
    looking ??= look()
    const finish = await within(looking, { ms: silentMs / 2, signal: options.signal })
    if (finish !== late) looking = null
    else if (!options.signal.aborted) await listen(worker, options)
    if (options.drain && worker.outages.longerThan(giveUpMs) !== null) return 'unreachable'
    if (finish !== late && finish !== null) return finish
  }
  return 'interrupted'
}

/** Checks whether the database responds at all, because judging a large run may take longer than `silentMs`. */
async function listen({ mill, outages }: Worker, { report, signal }: WorkOptions): Promise<void> {
  const answer = probeDatabase(mill.db).catch(() => late)
  const silent = (await within(answer, { ms: silentMs / 2, signal })) === late
  if (silent && signal.aborted) return
  if (silent && !outages.away('the database'))
    report('the database is not responding and is treated as unreachable')
  outages.mark('the database', silent)
}

async function drained(
  worker: Worker,
  { waits, options, open }: { waits: Waits; options: WorkOptions; open: boolean | null },
): Promise<Finish | null> {
  const { mill, tally, dispatch } = worker
  const { stopped } = dispatch
  if (open === null || dispatch.flying > 0) return null
  if (stopped !== null && dispatch.inHand > 0) {
    if (stopped.reason !== 'rate') return stopped.reason
    return tally.stillFor > mill.config.stallMs ? 'stalled' : null
  }
  if (worker.handling > 0) return null
  if (!open) {
    if (await worker.lost.hopes()) return null
    await (options.afterRuns ?? closeAndJudge)(mill, options.report)
    return (await leftUnaffordable(mill.db, tally.age)) === null ? 'completed' : 'budget'
  }
  // Other workers hold the remaining slices, and keep them while the account is stopped.
  if (worker.idleFor < idleMs) return null
  const stop = await activeStop(mill.db, worker.spender)
  if (stop !== null) return stop
  tally.waiting = await waits.longPause()
  return tally.waiting === null ? null : 'stalled'
}

/** Reports files with replies that are not in the database. If replies are lost, the worker ends with an error. */
async function leaveLog(worker: Worker, left: readonly Entry[]): Promise<void> {
  const { report } = worker.options
  const { files, calls } = await worker.log.close()
  const logged = left.filter(({ call }) => calls.has(call.id))
  if (logged.length > 0) {
    report(
      `${count(logged.length, 'paid answer')} could not be written to the database; the next worker on this machine will settle the answers in ${files.join(' and ')}`,
    )
  }
  const lost = left.filter(({ call, effect }) => !calls.has(call.id) && effect.kind === 'answered')
  if (lost.length === 0) return
  const error = describeLoss(lost, logFolder(worker.mill))
  report(error.message)
  worker.fatal = error
}

function describeLoss(lost: readonly Entry[], folder: string): Unreachable {
  const prices = lost.flatMap(({ creditsUsed }) => creditsUsed ?? [])
  const credits = prices.reduce((sum, price) => sum + price, 0)
  const unpriced = lost.length - prices.length
  const others = unpriced === 0 ? '' : `, ${unpriced} without a price`
  return new Unreachable(
    `too little space in ${folder} for answers that the database did not accept: ${count(lost.length, 'paid answer')} lost (${count(credits, 'credit')}${others}), which may be bought again; free some space before the next start`,
  )
}

/** Lets calls in flight finish, returns slices to the queue, and ensures that no paid answer exists only in memory. */
async function putAway(worker: Worker, consumer: Consumer): Promise<void> {
  const stopped = consumer.pause()
  worker.end()
  if (worker.dispatch.flying > 0) {
    worker.options.report(
      `waiting for ${count(worker.dispatch.flying, 'call')} in flight; stop again to abandon them (they may be charged)`,
    )
  }
  // If the database is unreachable, reservations fail, so the worker does not wait for them.
  const atGate = () => worker.dispatch.atGate && !worker.outages.mute
  const allBack = () => !atGate() && worker.dispatch.flying === worker.batch.size
  await until(allBack, worker.mill.config.timeoutMs + putAwayMs)
  // Calls that are still in flight are recorded as possibly charged.
  await worker.api.close()
  await until(() => worker.batch.size === 0 && worker.handling === 0, putAwayMs)
  await leaveLog(worker, worker.batch.abandon())
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
