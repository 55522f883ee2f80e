// The library: `import { openMill } from 'querymill'`.
import { processEnvironment, readConfig } from '../../base/config.ts'
import type { Name } from '../../base/settings.ts'
import { Closers } from '../../base/waiting.ts'
import { enqueue } from '../../core/enqueue/enqueue.ts'
import { type EnqueueFlags, openIntake } from '../../core/enqueue/flags.ts'
import type { EnqueueReport } from '../../core/enqueue/result.ts'
import { openMill as openParts, workerPool } from '../../core/mill.ts'
import type { Summary } from '../../core/worker/summary.ts'
import { work } from '../../core/worker/work.ts'
import { endNights } from '../alerts/find-alerts.ts'
import { onSnapshot, prove, type Verified } from '../verify/command.ts'

export interface OpenedMill {
  /**
   * Reads lists, plans a run for each list, and queues the queries that must be bought; null if nothing was queued. The
   * options are the command's flags, in camel case.
   */
  enqueue(
    files: readonly string[],
    options?: Omit<EnqueueFlags, 'json'>,
  ): Promise<EnqueueReport | null>
  /**
   * Buys an answer for each open task, within the credit floor and the budgets. The summary says why the work ended.
   * Unless `drain` is false, the worker stops when no work is left.
   */
  work(choices?: { readonly drain?: boolean; readonly signal?: AbortSignal }): Promise<Summary>
  /** Searches the database for rows that violate a check. */
  verify(how?: { readonly deep?: boolean }): Promise<Verified & { readonly ok: boolean }>
  close(): Promise<void>
}

/** Opens the database and the queue. `settings` override the environment and `.env`. `say` receives the lines that a user would see on a terminal. */
async function openPackage(
  settings: Partial<Record<Name, string>> = {},
  say: (line: string) => void = () => undefined,
): Promise<OpenedMill> {
  const env = processEnvironment()
  const config = readConfig(env, settings)
  const closers = new Closers()
  try {
    const mill = await openParts({ config, closers, say, name: 'program', ...workerPool })
    return {
      async enqueue(files, flags = {}) {
        const stream = process.stdin
        const asked = { args: files, flags, env: processEnvironment(), config, stream }
        const intake = await openIntake(asked)
        // There is no user to ask, so a purchase that needs confirmation requires `yes: true`.
        const prompts = { say, show: say, progress: () => undefined, ask: null }
        return enqueue({ mill, intake, flags, prompts })
      },
      work: ({ drain = true, signal = new AbortController().signal } = {}) =>
        work(mill, { drain, signal, lanes: config.concurrency, report: say, afterRuns: endNights }),
      async verify({ deep = false } = {}) {
        const asked = { zone: config.zone, deep }
        const verified = await onSnapshot(mill.db, (snapshot) => prove(snapshot, asked))
        return { ...verified, ok: verified.checks.every(({ ok }) => ok) }
      },
      close: () => closers.close(),
    }
  } catch (error) {
    await closers.close()
    throw error
  }
}

export { openPackage as openMill }
