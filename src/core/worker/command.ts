// Runs the `work` command: starts a worker, and prints its summary.

import { type Call, printJson, say } from '../../base/cli/command.ts'
import { readConfig } from '../../base/config.ts'
import { reaching } from '../../base/database/trouble.ts'
import type { Exit } from '../../base/errors.ts'
import type { Secret } from '../../base/secret.ts'
import { type Mill, openMill, workerPool } from '../mill.ts'
import type { AfterRuns } from '../nights/after-runs.ts'
import { Reporter } from './progress.ts'
import { exitOf, lastLine, sumLines, type Summary } from './summary.ts'
import { work } from './work.ts'
import type { Worker } from './worker.ts'

export interface WorkFlags {
  readonly drain?: true
  readonly concurrency?: string
}

interface Watched {
  readonly report: (line: string) => void
  readonly problems: () => readonly string[]
  readonly counted: () => Pick<Summary, 'answered' | 'reused' | 'failed' | 'unknown'>
  readonly more: () => Promise<string>
}

/** Features that the job passes to the worker, because only a job may import other features. */
export interface WorkParts {
  readonly afterRuns: AfterRuns
  /** Starts health checks, metrics and notifications. */
  readonly monitor: (
    mill: Mill,
    watched: Watched,
  ) => Promise<{ readonly observe: (seconds: number) => void; close(): Promise<void> }>
}

const nothingYet = { answered: 0, reused: 0, failed: 0, unknown: 0 }

export async function runWork(
  call: Call<WorkFlags>,
  { afterRuns, monitor }: WorkParts,
): Promise<Exit> {
  const { options, env, closers, signal } = call
  const flags = options.concurrency === undefined ? {} : { MILL_CONCURRENCY: options.concurrency }
  const config = readConfig(env, flags)
  const mill = await openMill({ config, closers, say, name: 'worker', ...workerPool })
  const drain = options.drain === true
  const secrets = config.api === null ? [] : [config.api.key]
  const screen = drain
    ? { terminal: process.stderr.isTTY, report: say }
    : { terminal: false, report: await openOutput(secrets) }
  const reporter = new Reporter(mill, screen)
  const { report } = reporter
  let worker: Worker | null = null
  // Health checks and metrics use this object, even while the worker is starting.
  const watched: Watched = {
    report,
    problems: () => worker?.outages.list() ?? ['the worker is starting'],
    counted: () => worker?.tally.sum('interrupted') ?? nothingYet,
    more: async () => (await mill.queue()).metrics(),
  }
  const { observe } = closers.add('the monitor', await monitor(mill, watched), (opened) =>
    opened.close(),
  )
  const onTick = (current: Worker) => {
    worker = current
    reporter.tick(current)
  }
  const onKey = (key: Secret) => void secrets.push(key)
  const lanes = config.concurrency
  const how = { drain, lanes, signal, report, afterRuns, onCall: observe, onTick, onKey }
  const summary = await reaching('the database', () => work(mill, how))
  reporter.clear()
  if (options.json === true) printJson(summary)
  for (const line of [...sumLines(summary), await lastLine(mill, summary)]) report(line)
  return exitOf(summary, signal)
}

/** Opens the output: a log for a service, or plain lines for a person watching a drain. */
async function openOutput(secrets: readonly Secret[]): Promise<(line: string) => void> {
  const { openLog } = await import('../../base/log.ts')
  const log = await openLog('work', secrets)
  return (line) => log.info(line)
}
