// One tick of the scheduler: updates the schedules, and starts or records each night that is due.

import { unhandled } from '../../base/errors.ts'
import { dueBetween, readCron } from '../../base/time/cron.ts'
import { formatMinute } from '../../base/time/zone.ts'
import { cancelRun } from '../ledger/change-tasks.ts'
import {
  advance,
  callBack,
  databaseNow,
  disable,
  noteRun,
  readFacts,
  readWatches,
  recordNights,
  saveWatch,
  type WatchRow,
} from '../nights/nights.ts'
import { decide, type NightStep } from './decide.ts'
import { described, type SchedulerContext, runNight } from './run.ts'
import type { Schedule, ScheduleFile } from './schedule.ts'

// Maximum steps per schedule. Each step decides something, so the loop ends; the limit guards against rules that loop
// forever.
const mostSteps = 200_000

// After a failover, the clock of the new database server may differ by seconds.
const mostAheadMs = 60_000

/** Runs what is due for every schedule of the file; may run concurrently in any number of processes. */
export async function tick(context: SchedulerContext, file: ScheduleFile): Promise<void> {
  await storeSchedules(context, file)
  const failures: unknown[] = []
  for (const schedule of file.schedules) {
    if (!schedule.on) continue
    try {
      await settle(context, schedule)
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length === 1) throw failures[0]
  if (failures.length > 1)
    throw new AggregateError(failures, 'some schedules could not be processed')
}

/** Stores the schedules of the file; one that is new, changed or enabled again starts now. */
async function storeSchedules(
  context: SchedulerContext,
  { schedules, names }: ScheduleFile,
): Promise<void> {
  const { watches, now } = await readStoredSchedules(context)
  for (const schedule of schedules) {
    const was = watches.get(schedule.name)
    const same = was?.cron === schedule.cron.pattern && was.zone === schedule.zone
    if (was !== undefined && was.enabled && !(same && schedule.on)) {
      await closeOld(context, was, { now, what: same ? 'turned off' : 'changed' })
    }
    const goesOn = was !== undefined && same && (was.enabled || !schedule.on)
    await saveWatch(context.db, {
      name: schedule.name,
      list: schedule.listName,
      cron: schedule.cron.pattern,
      zone: schedule.zone,
      missed: schedule.missed,
      overlap: schedule.overlap,
      enabled: schedule.on,
      max_age_ms: schedule.maxAgeMs,
      budget: schedule.budget,
      adaptive_days: schedule.cadence.kind === 'adaptive' ? schedule.cadence.longestDays : null,
      ...{ priority: schedule.priority, part: schedule.part },
      known_until: goesOn ? was.known_until : now,
    })
  }
  // A line without a readable name may belong to any schedule, so no schedule counts as removed.
  if (names.includes('')) return
  for (const was of watches.values()) {
    if (!was.enabled || names.includes(was.name)) continue
    await closeOld(context, was, { now, what: 'removed from the file' })
    await disable(context.db, was.name)
  }
}

/**
 * Reads the stored state of each schedule, and the current time. If a wrong clock led to decisions far in the future,
 * the schedule would do nothing until then, so it is reset to now.
 */
async function readStoredSchedules(
  context: SchedulerContext,
): Promise<{ watches: Map<string, WatchRow>; now: Date }> {
  const kept = await readWatches(context.db)
  // The time is read after the schedules, so that a concurrent scheduler's decisions are never ahead of it.
  const now = await clock(context)
  const watches = new Map<string, WatchRow>()
  for (const watch of kept) {
    const { name, zone, known_until: known } = watch
    const ahead = known.getTime() > now.getTime() + mostAheadMs
    watches.set(name, ahead ? { ...watch, known_until: now } : watch)
    if (!ahead) continue
    await callBack(context.db, name, now)
    context.report(
      `${name} was decided until ${formatMinute(zone, known)} ${zone}, which is ahead of the database's clock: it starts again now`,
    )
  }
  return { watches, now }
}

/**
 * Records undecided nights as missed before a schedule changes or ends, because its due times can't be computed
 * afterwards.
 */
async function closeOld(
  context: SchedulerContext,
  was: WatchRow,
  { now, what }: { now: Date; what: string },
): Promise<void> {
  const reading = readCron(was.cron)
  if (reading.kind === 'problem') return
  const nights = dueBetween(reading.cron, was.zone, { after: was.known_until, until: now })
  const note = `the schedule was ${what} before a scheduler could decide`
  const outcome = 'missed'
  const missed = await recordNights(context.db, was.name, { nights, outcome, note, known: now })
  if (missed.length > 0) context.report(`${described(was, missed)} ${outcome}: ${note}`)
}

async function settle(context: SchedulerContext, schedule: Schedule): Promise<void> {
  const { account, origin: kind } = context.supplier
  const { name, listName: list } = schedule
  for (let steps = 0; steps < mostSteps; steps++) {
    const now = await clock(context)
    const rows = await readFacts(context.db, { schedule: name, list, account, kind })
    const decided = new Set(rows.decided.map((at) => at.getTime()))
    const step = decide(schedule, { ...rows, now, decided })
    await take(context, schedule, step)
    if (step.kind === 'rest') return
  }
  throw new Error(`expected schedule ${schedule.name} to settle within ${mostSteps} steps`)
}

async function clock(context: SchedulerContext): Promise<Date> {
  return context.now === undefined ? databaseNow(context.db) : context.now()
}

async function take(context: SchedulerContext, schedule: Schedule, step: NightStep): Promise<void> {
  switch (step.kind) {
    case 'rest':
      return advance(context.db, schedule.name, step.known)
    case 'record':
    case 'wait': {
      const outcome = step.kind === 'record' ? step.outcome : null
      await recordNights(context.db, schedule.name, { ...step, outcome })
      return context.report(
        `${described(schedule, step.nights)} ${outcome ?? 'waits'}: ${step.note}`,
      )
    }
    case 'close':
      await cancelRun(context.db, step.busy.run)
      await noteRun(context.db, step.busy.run, step.note)
      return context.report(`run ${step.busy.run} of ${step.busy.date} ${step.note}`)
    case 'run':
      return runNight(context, schedule, step)
    default:
      throw unhandled('step', step)
  }
}
