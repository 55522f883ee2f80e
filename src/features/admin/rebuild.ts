// The rebuild command: recreates the queue's jobs, and the sums of finished days, from the tables.

import { once } from 'node:events'
import { type Call, printJson, say } from '../../base/cli/command.ts'
import { count } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { isDay } from '../../base/time/zone.ts'
import { type Mill, openMill } from '../../core/mill.ts'
import { analyzeChanged, finishDays, readDaysLeft } from '../../core/nights/finish.ts'
import { rebuild } from '../../core/runs/rebuild.ts'

interface RebuildFlags {
  readonly days?: true
  readonly since?: string
}

export async function runRebuild(call: Call<RebuildFlags>): Promise<Exit> {
  const { options, env, closers } = call
  if (options.since !== undefined && options.days !== true) {
    throw new Misuse(
      'expected --days with --since, got --since alone; the queue is not rebuilt by day',
    )
  }
  if (options.since !== undefined && !isDay(options.since)) {
    throw new Misuse(`expected --since to be a date like 2026-10-03, got ${options.since}`)
  }
  const mill = await openMill({ config: readConfig(env), closers, say, name: 'rebuild' })
  if (options.days === true) return rebuildDays(mill, call)
  const jobs = await Promise.race([rebuild(mill), once(call.signal, 'abort')])
  if (typeof jobs !== 'number') return exits.interrupted
  if (options.json === true) printJson({ jobs })
  say(`${jobs} slices with open tasks have a job in the queue`)
  return exits.done
}

/** Maximum number of consecutive attempts that store nothing. Other transactions may temporarily block a day. */
const patience = 30

/** Computes the sums of finished days. Each day is stored atomically, so an interrupted rebuild can be continued. */
async function rebuildDays({ db }: Mill, { options, signal }: Call<RebuildFlags>): Promise<Exit> {
  const { since } = options
  const report = (day: string, open: number) =>
    say(`${day}: sums stored, ${count(open, 'day')} to go`)
  let days = 0
  for (let tries = 0; tries < patience && !signal.aborted; tries++) {
    const kept = await finishDays(db, Infinity, { since, signal, report })
    days += kept
    if (kept > 0) tries = 0
    if ((await readDaysLeft(db, since)).open === 0) break
  }
  if (days > 0) await analyzeChanged(db)
  const left = await readDaysLeft(db, since)
  if (options.json === true) printJson({ days, ...left })
  say(`sums of ${count(days, 'day')} stored`)
  const reasons = [
    [
      left.begun,
      'in progress in another process; if that process has died, this command can continue the work 15 minutes after its start, and 10 more for every 60,000 queries',
    ],
    [left.waiting, 'left out because a run on the same or an earlier day is still open'],
    [left.open, 'left without new sums, because the data changed or the command was stopped'],
  ] as const
  for (const [some, why] of reasons) if (some > 0) say(`${count(some, 'day')} ${why}`)
  if (left.open === 0) return exits.done
  if (!signal.aborted) return exits.failures
  say('stopped; run the same command to continue')
  return exits.interrupted
}
