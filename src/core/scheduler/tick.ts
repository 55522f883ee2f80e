// One tick of the scheduler: updates the schedules, and starts or records each night that is due.

import { count } from '../../base/cli/text.ts'
import { clock } from '../../base/database/clock.ts'
import type { Database, Transaction } from '../../base/database/database.ts'
import { type Selectable, sql } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { MillError, Misuse, unhandled, Unreachable } from '../../base/errors.ts'
import { type Due, dueBetween, readCron } from '../../base/time/cron.ts'
import { formatMinute } from '../../base/time/zone.ts'
import { intervalNotice, type ListPlan, planList, queueRun } from '../enqueue/planning.ts'
import type { ListOrder } from '../enqueue/staging.ts'
import { cancelRun } from '../ledger/change-tasks.ts'
import { noDefaults } from '../lists/options.ts'
import type { Supplier } from '../mill.ts'
import { databaseNow, findList, readFacts } from '../nights/nights.ts'
import type { SliceQueue } from '../queue/slice-jobs.ts'
import { decide, type NightStep } from './decide.ts'
import { type Schedule, type ScheduleFile, sharePhrase, sharesPhrase } from './schedule.ts'

/** Decides which queries in a list are bought on a night, and stores the decision. */
export type ChooseQueries = (
  mill: { readonly db: Database; readonly supplier: Supplier },
  night: {
    readonly listName: string
    readonly runDate: string
    readonly longestDays: number
  },
) => Promise<void>

interface SchedulerContext {
  readonly db: Database
  readonly supplier: Supplier
  /** Maximum age of a reused answer, for schedules that specify no maximum age. */
  readonly maxAgeMs: number
  readonly queue: () => Promise<Pick<SliceQueue, 'add'>>
  /** Chooses the queries to buy from lists with an adaptive cadence. By default, all queries are bought. */
  readonly chooseQueries?: ChooseQueries | undefined
  readonly report: (line: string) => void
  /** Clock for tests. By default, the database clock is used. */
  readonly now?: () => Promise<Date>
}

// Maximum number of steps per schedule. Each step makes a decision, so only a faulty rule can reach this limit.
const mostSteps = 200_000

// After a failover, the clock of the new database server may differ by seconds.
const mostAheadMs = 60_000

/** Runs every due night of the schedules in the file. Any number of processes may run a tick concurrently. */
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
    throw new AggregateError(failures, 'one or more schedules could not be processed')
}

/** Stores the schedules from the file. New, changed and re-enabled schedules start at the current time. */
async function storeSchedules(context: SchedulerContext, { schedules, names }: ScheduleFile) {
  const { watches, now } = await readStoredSchedules(context)
  for (const schedule of schedules) {
    const was = watches.get(schedule.name)
    const same = was?.cron === schedule.cron.pattern && was.zone === schedule.zone
    if (was !== undefined && was.enabled && !(same && schedule.on)) {
      await closeOld(context, was, { now, what: same ? 'turned off' : 'changed' })
    }
    const goesOn = was !== undefined && same && (was.enabled || !schedule.on)
    const kept = {
      list: schedule.listName,
      cron: schedule.cron.pattern,
      zone: schedule.zone,
      missed: schedule.missed,
      overlap: schedule.overlap,
      enabled: schedule.on,
      max_age_ms: schedule.maxAgeMs,
      budget: schedule.budget,
      adaptive_days: schedule.longestDays > 1 ? schedule.longestDays : null,
      ...{ priority: schedule.priority, part: schedule.part },
      known_until: goesOn ? was.known_until : now,
      seen_at: clock,
    }
    await context.db
      .insertInto('schedules')
      .values({ name: schedule.name, ...kept })
      .onConflict((conflict) =>
        conflict.column('name').doUpdateSet(({ fn }) => ({
          ...kept,
          // The time never decreases.
          known_until: fn<Date>('greatest', ['schedules.known_until', 'excluded.known_until']),
        })),
      )
      .execute()
  }
  // A line without a readable name may belong to any schedule, so no schedule is treated as removed.
  if (names.includes('')) return
  for (const was of watches.values()) {
    if (!was.enabled || names.includes(was.name)) continue
    await closeOld(context, was, { now, what: 'removed from the file' })
    await context.db
      .updateTable('schedules')
      .set({ enabled: false })
      .where('name', '=', was.name)
      .execute()
  }
}

/** Reads the schedules and the time. Resets a schedule to the current time if a wrong clock moved it far ahead. */
async function readStoredSchedules(context: SchedulerContext) {
  const kept = await context.db
    .selectFrom('schedules')
    .select(['name', 'cron', 'zone', 'enabled', 'known_until'])
    .orderBy('name')
    .execute()
  // The time is read after the schedules, so that it is never earlier than another scheduler's decisions.
  const now = await timeOf(context)
  const watches = new Map(kept.map((watch) => [watch.name, watch]))
  for (const watch of kept) {
    const { name, zone, known_until: known } = watch
    const ahead = known.getTime() > now.getTime() + mostAheadMs
    if (!ahead) continue
    watches.set(name, { ...watch, known_until: now })
    await callBack(context.db, name, now)
    context.report(
      `nights of ${name} had already been decided up to ${formatMinute(zone, known)} ${zone}, which is later than the database's current time; the schedule continues from the current time`,
    )
  }
  return { watches, now }
}

/** Records undecided nights as missed before a schedule changes, because its old due times are unknown afterwards. */
async function closeOld(
  context: SchedulerContext,
  was: Pick<Selectable<DB['schedules']>, 'name' | 'cron' | 'zone' | 'known_until'>,
  { now, what }: { readonly now: Date; readonly what: string },
): Promise<void> {
  const reading = readCron(was.cron)
  if (reading.kind === 'problem') return
  const nights = dueBetween(reading.cron, was.zone, { after: was.known_until, until: now })
  const note = `the schedule was ${what} before a scheduler could start the night`
  const outcome = 'missed'
  const missed = await recordNights(context.db, was.name, { nights, outcome, note, known: now })
  if (missed.length > 0) context.report(`${described(was, missed)} ${outcome}: ${note}`)
}

async function settle(context: SchedulerContext, schedule: Schedule): Promise<void> {
  const { account, origin: kind } = context.supplier
  const { name, listName: list } = schedule
  for (let steps = 0; steps < mostSteps; steps++) {
    const now = await timeOf(context)
    const facts = await readFacts(context.db, { schedule: name, list, account, kind })
    const step = decide(schedule, { ...facts, now })
    await take(context, schedule, step)
    if (step.kind === 'rest') return
  }
  throw new Error(`schedule ${schedule.name} was not finished after ${mostSteps} steps`)
}

async function timeOf(context: SchedulerContext): Promise<Date> {
  return context.now === undefined ? databaseNow(context.db) : context.now()
}

async function take(context: SchedulerContext, schedule: Schedule, step: NightStep): Promise<void> {
  switch (step.kind) {
    case 'rest':
      return advance(context.db, schedule.name, step.known)
    case 'record':
    case 'wait':
      await recordNights(context.db, schedule.name, step)
      return context.report(
        `${described(schedule, step.nights)} ${step.outcome ?? 'waits'}: ${step.note}`,
      )
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

type RunStep = Extract<NightStep, { kind: 'run' }>

/** Plans a night's run. Does nothing if another scheduler has already recorded the nights. */
async function runNight(context: SchedulerContext, schedule: Schedule, step: RunStep) {
  try {
    const { plan, note } = await planNight(context, schedule, step)
    await advance(context.db, schedule.name, step.known)
    const what = step.into === null ? `is run ${plan.run}` : `joined run ${plan.run}`
    const told = [planPhrase(plan)]
    if (schedule.part !== null) {
      told.push(`if credits run short, ${sharePhrase(schedule.part)} of them go to this list`)
    }
    told.push(...intervalNotice(plan))
    if (note !== null) told.push(note)
    context.report(
      `${described(schedule, [step.night])} ${what} (${step.outcome}): ${told.join('; ')}`,
    )
    await queueRun({ db: context.db }, await context.queue(), plan.run)
  } catch (error) {
    if (error instanceof NightTaken) return
    if (!(error instanceof Misuse)) throw error
    const note = error.message
    const nights = [step.night]
    const failed = { nights, outcome: 'failed', note, known: step.known } as const
    await recordNights(context.db, schedule.name, failed)
    context.report(`${described(schedule, nights)} failed: ${note}`)
  }
}

function planPhrase({ queued, reused, notAsked, dropped, rejected, shares }: ListPlan): string {
  return [
    `${queued} to buy`,
    `${reused} reused`,
    ...(notAsked === 0 ? [] : [`${notAsked} not asked`]),
    ...(dropped === 0 ? [] : [`${dropped} dropped, because they are no longer in the list`]),
    ...shares.map((one) => `${sharesPhrase([one])} for ${one.queued} of them`),
    ...(rejected === 0 ? [] : [`${count(rejected, 'line')} rejected`]),
  ].join(', ')
}

/** Plans a run from the list's current file or, if the file is missing or broken, from its last successful read. */
async function planNight(context: SchedulerContext, schedule: Schedule, step: RunStep) {
  const { path, list: shown, listName, longestDays } = schedule
  const { night, outcome, into } = step
  const joins = into === null ? null : `joined run ${into.run} of ${into.date}`
  const plan = (from: ListOrder['from'], note: string | null) =>
    planList(context, {
      list: listName,
      from,
      // Nobody can answer a prompt at night, so a file that needs confirmation is treated as broken.
      reading: {
        ...schedule.reading,
        matchTypes: schedule.reading.matchTypes ?? 'keep',
        defaults: { ...noDefaults, priority: schedule.priority },
      },
      kind: 'nightly',
      runDate: night.date,
      budget: schedule.budget,
      maxAgeMs: schedule.maxAgeMs ?? context.maxAgeMs,
      adaptive: context.chooseQueries !== undefined && longestDays > 1,
      part: schedule.part,
      shares: schedule.shares,
      into: into?.run ?? null,
      record: (trx, run) => takeNight(trx, night, { schedule: schedule.name, outcome, run, note }),
    })
  if (longestDays > 1) {
    await context.chooseQueries?.(context, { listName, runDate: night.date, longestDays })
  }
  try {
    return { plan: await plan({ kind: 'file', path, shown }, joins), note: joins }
  } catch (error) {
    if (!(error instanceof MillError) || error instanceof Unreachable) throw error
    const known = await findList(context.db, listName)
    if (known === null) throw error
    const why = `the queries from the last successful read are used, because the list cannot be read: ${error.message}`
    const note = joins === null ? why : `${joins}; ${why}`
    return { plan: await plan({ kind: 'members', list: known }, note), note }
  }
}

function described(
  { name, zone }: Pick<Schedule, 'name' | 'zone'>,
  nights: readonly { readonly at: Date }[],
): string {
  const [first] = nights
  const last = nights.at(-1)
  if (first === undefined || last === undefined) return name
  const times =
    first === last
      ? formatMinute(zone, first.at)
      : `${formatMinute(zone, first.at)} to ${formatMinute(zone, last.at)} (${nights.length} times)`
  return `${name}, due ${times} ${zone},`
}

async function advance(db: Database, schedule: string, known: Date): Promise<void> {
  await db
    .updateTable('schedules')
    .set((eb) => ({
      known_until: eb.fn<Date>('greatest', ['known_until', eb.val(known)]),
      seen_at: clock,
    }))
    .where('name', '=', schedule)
    .execute()
}

/** Records nights without a run. Skips nights that already have an outcome, and returns the recorded nights. */
async function recordNights(
  db: Database,
  schedule: string,
  what: Pick<Decision, 'outcome' | 'note'> & { nights: readonly Due[]; known: Date },
): Promise<readonly Due[]> {
  const { nights, known, ...night } = what
  return db.transaction().execute(async (trx) => {
    const recorded = await writeNights(trx, nights, { ...night, schedule, run: null })
    await advance(trx, schedule, known)
    return recorded
  })
}

interface Decision {
  readonly schedule: string
  readonly outcome: 'ran' | 'late' | 'missed' | 'skipped' | 'failed' | null
  readonly run: number | null
  readonly note: string | null
}

async function writeNights(
  trx: Database,
  nights: readonly Due[],
  { schedule, outcome, run, note }: Decision,
): Promise<readonly Due[]> {
  const { rows } = await sql<{ due_at: Date }>`
    insert into nights (schedule, due_at, run_date, outcome, run_id, note)
    select ${schedule}, at, date, ${outcome}, ${run}::bigint, ${note}
    from unnest(
      ${nights.map(({ at }) => at.toISOString())}::timestamptz[],
      ${nights.map(({ date }) => date)}::date[]
    ) as due (at, date)
    on conflict (schedule, due_at) do update
    set outcome = excluded.outcome,
      run_id = excluded.run_id,
      note = excluded.note,
      decided_at = clock_timestamp()
    where nights.outcome is null
      and excluded.outcome is not null
    returning due_at`.execute(trx)
  const written = new Set(rows.map(({ due_at: at }) => at.getTime()))
  return nights.filter(({ at }) => written.has(at.getTime()))
}

/** Error for a night that another scheduler has claimed, or whose list already has another run. */
class NightTaken extends Error {}

/** Claims a night in the transaction that plans its run, so that either both succeed or neither does. */
async function takeNight(trx: Transaction, night: Due, decision: Decision): Promise<void> {
  const [taken] = await writeNights(trx, [night], decision)
  if (taken === undefined) throw new NightTaken('another scheduler took the night')
  // The list's row is locked here, so no other process can be planning a run for the list.
  const other = await trx
    .selectFrom('runs')
    .innerJoin('runs as own', 'own.list_id', 'runs.list_id')
    .select('runs.id')
    .where('own.id', '=', decision.run)
    .whereRef('runs.id', '<>', 'own.id')
    .where('runs.state', 'in', ['planning', 'open'])
    .limit(1)
    .executeTakeFirst()
  if (other !== undefined) throw new NightTaken('another run of the list is open')
}

async function noteRun(db: Database, run: number, note: string): Promise<void> {
  await db
    .updateTable('nights')
    .set((eb) => ({
      note: eb.fn<string>('concat_ws', [
        sql.lit('; '),
        'note',
        eb.cast<string>(eb.val(note), 'text'),
      ]),
    }))
    .where('run_id', '=', run)
    .execute()
}

/** Resets a schedule to the current time if later nights were already decided. Its runs continue. */
async function callBack(db: Database, name: string, now: Date): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await trx.updateTable('schedules').set({ known_until: now }).where('name', '=', name).execute()
    // Deletes nights that were decided ahead of time, so that they are decided again when they become due.
    await trx
      .deleteFrom('nights')
      .where('schedule', '=', name)
      .where('due_at', '>', now)
      .where('run_id', 'is', null)
      .execute()
  })
}
