// Carries out a worker's periodic duties: lease, crash recovery, lost jobs, finished runs, and key file changes.

import { readFile } from 'node:fs/promises'
import { count } from '../../base/cli/text.ts'
import { isFatal, setBack, troubleOf } from '../../base/database/trouble.ts'
import { asError, unhandled } from '../../base/errors.ts'
import { Secret } from '../../base/secret.ts'
import { settings } from '../../base/settings.ts'
import type { AfterRuns } from '../nights/after-runs.ts'
import { anyOpen, listOpenSlices } from '../queue/open-slices.ts'
import { countOpenTasks, readWaits, type Wait } from '../runs/waits.ts'
import { beats, sparedUntil } from '../ledger/leases.ts'
import { settleAbandonedLogs } from './recovery.ts'
import type { Waiting } from './summary.ts'
import type { Worker } from './worker.ts'

/** Time without a delivery after which the queue may have lost jobs. */
export const idleMs = 2_000
const reconcileMs = 5_000
const lookAtQueueMs = 2_000
const longestReapMs = 15_000
const keyFileMs = 1_000

/** Carries out all periodic duties until stopped: renews the lease, recovers lost calls and jobs, and closes runs. */
export class Upkeep {
  readonly #worker: Worker
  readonly #afterRuns: AfterRuns
  readonly #timers: NodeJS.Timeout[]
  #reconciledAt = 0
  #closedAt = performance.now()
  #beatAt = performance.now()
  #queueAt = 0
  /** Time before which no worker is reaped, so that workers can renew their leases after an outage. */
  #spareUntil = 0

  constructor(worker: Worker, afterRuns: AfterRuns) {
    this.#worker = worker
    this.#afterRuns = afterRuns
    const { leaseMs, keyFile, api } = worker.mill.config
    this.#timers = [
      this.#every(leaseMs / beats, () => this.#beat()),
      this.#every(Math.min(leaseMs / 4, longestReapMs), () => this.#recover()),
    ]
    if (keyFile === null || api === null) return
    this.#timers.push(this.#every(keyFileMs, watchKeyFile(keyFile, api.key, worker)))
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer)
  }

  /** True if any task is open, or null if the database did not respond. */
  async look(): Promise<boolean | null> {
    await this.#lookAtQueue()
    try {
      const open = await anyOpen(this.#worker.mill.db)
      this.#worker.outages.mark('the database', false)
      if (open) await this.#reconcile()
      await this.#closeRuns()
      return open
    } catch (error) {
      if (troubleOf(error) === 'data') throw error
      this.#worker.outages.mark('the database', true)
      return null
    }
  }

  #every(ms: number, task: () => Promise<unknown>): NodeJS.Timeout {
    return setInterval(() => {
      task().catch((error: unknown) => {
        if (isFatal(error)) this.#worker.fatal = asError(error)
        else this.#worker.outages.mark('the database', true)
      })
    }, ms)
  }

  /** Renews the lease. After a long delay, no workers are reaped for a while, since they were probably delayed too. */
  async #beat(): Promise<void> {
    const { lease, mill } = this.#worker
    const { leaseMs } = mill.config
    await lease.beat()
    const now = performance.now()
    this.#spareUntil = sparedUntil(this.#spareUntil, { now, beatAt: this.#beatAt, leaseMs })
    this.#beatAt = now
  }

  /** Gives up dead workers' calls, and releases this worker's unconfirmed reservations. */
  async #recover(): Promise<void> {
    const { mill, options, log, lease, spender, nudge } = this.#worker
    log.touch()
    // The heartbeat comes first, because it shows how long this and other workers may have been delayed.
    await this.#beat()
    // Settles the answers in dead workers' logs first, so that no query with a received answer is bought again.
    await settleAbandonedLogs(mill, spender, options.report)
    if (performance.now() >= this.#spareUntil) await lease.reap(spender)
    await lease.release(spender)
    await this.#expectNothingOpen()
    nudge()
  }

  /** Checks that an idle worker has no open calls in the database, because such calls would never end. */
  async #expectNothingOpen(): Promise<void> {
    const { lease, spender, dispatch, batch, tally } = this.#worker
    const idle = () => dispatch.flying === 0 && !dispatch.atGate && batch.size === 0
    const calls = tally.calls
    if (!idle()) return
    const open = await lease.countOpen(spender.givenUp)
    // A new call may have started in the meantime.
    if (open === 0 || !idle() || tally.calls !== calls) return
    throw setBack(
      `worker ${lease.worker} has ended all its calls, but ${open} are still open in the database`,
    )
  }

  /** Recreates lost jobs if the queue delivers no jobs although tasks are open. */
  async #reconcile(): Promise<void> {
    const now = performance.now()
    if (this.#worker.idleFor < idleMs || now - this.#reconciledAt < reconcileMs) return
    this.#reconciledAt = now
    const slices = await listOpenSlices(this.#worker.mill.db, { after: null, limit: 500 })
    const due = slices.filter(({ delayMs }) => delayMs <= 0)
    const queue = await this.#worker.mill.queue()
    // The promise is not awaited, because an unreachable queue may never respond, and this worker must continue.
    queue.wake(due).catch(() => this.#worker.outages.mark('the queue', true))
  }

  /** Closes runs that stayed open because their last slices ended at the same time. */
  async #closeRuns(): Promise<void> {
    if (performance.now() - this.#closedAt < reconcileMs) return
    this.#closedAt = performance.now()
    await this.#afterRuns(this.#worker.mill, this.#worker.options.report)
  }

  async #lookAtQueue(): Promise<void> {
    const now = performance.now()
    if (now - this.#queueAt < lookAtQueueMs) return
    this.#queueAt = now
    const queue = await this.#worker.mill.queue()
    // The promise is not awaited, because an unreachable queue may never respond.
    queue
      .repair()
      .then(() => queue.count())
      .then(
        () => this.#worker.outages.mark('the queue', false),
        () => this.#worker.outages.mark('the queue', true),
      )
  }
}

/** Returns a function that checks the key file. If a rejected key has stopped work, a new key in the file is used. */
function watchKeyFile(path: string, first: Secret, worker: Worker): () => Promise<void> {
  let present = first
  let candidate: string | null = null
  let declined: string | null = null
  return async () => {
    if (!isHalted(worker)) return
    const found = await readNewKey(path, present)
    // Waits until two reads return the same key, because the file may be only partly written.
    const twice = found !== null && found.fingerprint() === candidate
    candidate = found?.fingerprint() ?? null
    if (found === null || !twice || !isHalted(worker)) return
    if (isTest(found) === isTest(present)) {
      present = found
      worker.turnKey(found)
      worker.options.report(`the key file ${path} contains a new key, which is used from now on`)
    } else if (declined !== candidate) {
      // Test keys and live keys have separate balances and answers.
      declined = candidate
      const [is, was] = isTest(found) ? ['test', 'live'] : ['live', 'test']
      worker.options.report(
        `the key file ${path} contains a ${is} key, but this worker buys with a ${was} key; if the change is intended, restart the worker`,
      )
    }
  }
}

/** Reads the key in the file; returns null if the key is unchanged or invalid. */
async function readNewKey(path: string, present: Secret): Promise<Secret | null> {
  const text = (await readFile(path, 'utf8').catch(() => '')).trim()
  if (!settings.SEARCH_API_KEY.shape.safeParse(text).success) return null
  const found = new Secret(text)
  return found.fingerprint() === present.fingerprint() ? null : found
}

/** True if the key was rejected and no reply is pending that would be attributed to the new key. */
function isHalted({ dispatch, batch }: Worker): boolean {
  const { stopped, flying, atGate } = dispatch
  return stopped?.reason === 'auth' && flying === 0 && !atGate && batch.size === 0
}

function isTest(key: Secret): boolean {
  return key.reveal().startsWith('sk_test_')
}

/** If no call is in flight and no task finishes for this long, a worker reports why it is waiting. */
const quietMs = 3_000
const lookMs = 3_000

export type Waits = ReturnType<typeof watchWaits>

/** Reports why open tasks wait, and until when. A reason is reported only when it is new or changes. */
export function watchWaits({ mill, lease, dispatch, tally, options }: Worker) {
  const { db, config } = mill
  let said = new Set<string>()
  let waits: readonly Wait[] = []
  let lookAt = 0
  return {
    look: async () => {
      const now = performance.now()
      if (dispatch.flying > 0 || dispatch.stopped !== null || tally.stillFor < quietMs) return
      if (now < lookAt) return
      lookAt = now + lookMs
      waits = await readWaits(db, lease.worker).catch((error: unknown) => {
        if (troubleOf(error) === 'data') throw error
        return []
      })
      for (const wait of waits) if (!said.has(keyOf(wait))) options.report(describeWait(wait))
      said = new Set(waits.map(keyOf))
    },
    /** Returns the pause if it delays all open tasks for longer than a drain waits; otherwise null. */
    longPause: async (): Promise<Waiting | null> => {
      const [wait, ...others] = waits
      if (wait?.kind !== 'pause' || others.length > 0 || wait.ms <= config.stallMs) return null
      const { tasks, query, until } = wait
      return (await countOpenTasks(db)) === tasks ? { tasks, query, until } : null
    },
  }
}

/** Identifies a wait. The key omits a lease's expiry, because workers renew leases. */
function keyOf(wait: Wait): string {
  return wait.kind === 'lease' ? `lease ${wait.worker}` : `pause ${wait.until}`
}

function describeWait(wait: Wait): string {
  switch (wait.kind) {
    case 'lease': {
      const { calls, worker, host, pid, until } = wait
      return `waiting for ${count(calls, 'call')} by worker ${worker} (${host}, process ${pid}); if that worker has died, its lease ends at ${until}, and the calls are then retried`
    }
    case 'pause': {
      const { tasks, query, error, until } = wait
      const why = error === null ? '' : ` (${error})`
      const others = tasks === 1 ? '' : ` and ${count(tasks - 1, 'more task')}`
      return `waiting until ${until} to retry ${JSON.stringify(query)}${others}${why}`
    }
    default:
      throw unhandled('wait', wait)
  }
}
