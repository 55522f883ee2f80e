// The rebuild command: recreates the jobs of the queue, and the sums of finished days, from the tables.

import { once } from 'node:events'
import { type Call, printJson, say } from '../../base/cli/command.ts'
import { count } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { isDay } from '../../base/time/zone.ts'
import { type Mill, openMill } from '../../core/mill.ts'
import { analyzeFinished, finishDays, readDaysLeft } from '../../core/nights/finish.ts'
import { rebuild } from '../../core/runs/rebuild.ts'

/** Flags of `npm run rebuild`. */
interface RebuildFlags {
  readonly days?: true
  readonly since?: string
}

/** Recreates the jobs of the queue, or computes the sums of finished days. Prints the number of jobs or days. */
export async function runRebuild(call: Call<RebuildFlags>): Promise<Exit> {
  const { options, env, closers } = call
  if (options.since !== undefined && options.days !== true) {
    throw new Misuse('expected --days with --since, got --since alone; the queue has no days')
  }
  if (options.since !== undefined && !isDay(options.since)) {
    throw new Misuse(`expected --since to be a day like 2026-10-03, got ${options.since}`)
  }
  const mill = await openMill({ config: readConfig(env), closers, say, name: 'rebuild' })
  if (options.days === true) return rebuildDays(mill, call)
  const jobs = await Promise.race([rebuild(mill), once(call.signal, 'abort')])
  if (typeof jobs !== 'number') return exits.interrupted
  if (options.json === true) printJson({ jobs })
  say(`${jobs} slices with open tasks have a job in the queue`)
  return exits.done
}

/**
 * Computes the sums of finished days. Each day is stored atomically, so an interrupted command continues when it is run
 * again.
 */
async function rebuildDays({ db }: Mill, { options, signal }: Call<RebuildFlags>): Promise<Exit> {
  const days = await addUpDays(db, options.since, signal)
  if (days > 0) await analyzeFinished(db)
  const left = await readDaysLeft(db, options.since)
  if (options.json === true) printJson({ days, ...left })
  say(`${count(days, 'day')} summed up`)
  for (const line of linesOf(left)) say(line)
  if (left.open === 0) return exits.done
  if (!signal.aborted) return exits.failures
  say('stopped; run the same command to continue')
  return exits.interrupted
}

/**
 * Number of consecutive attempts that store no day before the command gives up. Several attempts are needed, because
 * other transactions may block a day for more than a second.
 */
const patience = 30

async function addUpDays(db: Database, since: string | undefined, signal: AbortSignal) {
  const report = (day: string, left: number) => {
    say(`${day} is summed up, ${left} to go`)
  }
  let days = 0
  for (let tries = 0; tries < patience && !signal.aborted; tries++) {
    const kept = await finishDays(db, Infinity, { since, signal, report })
    days += kept
    if (kept > 0) tries = 0
    if ((await readDaysLeft(db, since)).open === 0) break
  }
  return days
}

function* linesOf({
  open,
  begun,
  waiting,
}: Awaited<ReturnType<typeof readDaysLeft>>): Generator<string> {
  if (begun > 0) {
    yield `${count(begun, 'day')} in progress in another process; if that process died, they can be taken over after 15 minutes`
  }
  if (waiting > 0) {
    yield `${count(waiting, 'day')} left out: a run of the same day or of an earlier one is still open`
  }
  if (open > 0) {
    yield `${count(open, 'day')} not summed up: their data changed in the meantime, or the command was stopped`
  }
}
