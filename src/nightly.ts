import { planList, queueRun, type SliceSink } from './enqueue.ts'
import { dueBetween, readCron } from './cron.ts'
import { MillError, Misuse } from './errors.ts'
import { listName } from './lists/files.ts'
import { noDefaults } from './lists/requests.ts'
import type { Market } from './market.ts'
import { decide, type Step } from './nights/decide.ts'
import type { Schedule } from './nights/schedules.ts'
import { listPath, type Plan } from './schedules.ts'
import { cancelRun } from './store/change.ts'
import type { Database } from './store/database.ts'
import {
  advance,
  databaseNow,
  disableOthers,
  findList,
  NightTaken,
  noteRun,
  readFacts,
  readWatches,
  recordNights,
  saveWatch,
  takeNight,
  type WatchRow,
} from './store/nights.ts'
import { formatMinute } from './zone.ts'
import type { ListOrder } from './staging.ts'

/** What a tick works with. */
export interface NightDesk {
  readonly db: Database
  readonly market: Market
  /** An answer younger than this is reused, where a schedule says nothing. */
  readonly maxAgeMs: number
  readonly queue: () => Promise<SliceSink>
  readonly tell: (line: string) => void
  /** The clock; that of the database, unless a test brings its own. */
  readonly now?: () => Promise<Date>
}

// Each step decides something, so there is an end; a rule that went in circles must not go on for ever.
const mostSteps = 200_000

/** Does what is due by now, for every schedule of the file; may run in any number of processes at once. */
export async function tick(desk: NightDesk, plan: Plan): Promise<void> {
  await keepWatch(desk, plan)
  const failures: unknown[] = []
  for (const schedule of plan.schedules) {
    if (!schedule.on) continue
    try {
      await settle(desk, schedule)
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length === 1) throw failures[0]
  if (failures.length > 1) throw new AggregateError(failures, 'some schedules could not be served')
}

/** Writes down what the file says; a schedule that is new, changed or on again begins now. */
async function keepWatch(desk: NightDesk, { schedules, names }: Plan): Promise<void> {
  const now = await clock(desk)
  const watches = new Map((await readWatches(desk.db)).map((watch) => [watch.name, watch]))
  for (const schedule of schedules) {
    const was = watches.get(schedule.name)
    const same = was?.cron === schedule.cron.pattern && was.zone === schedule.zone
    if (was !== undefined && was.enabled && !same) await closeOld(desk, was, now)
    const goesOn = was !== undefined && same && (was.enabled || !schedule.on)
    await saveWatch(desk.db, {
      name: schedule.name,
      list: listName(listPath(schedule.list)),
      cron: schedule.cron.pattern,
      zone: schedule.zone,
      missed: schedule.missed,
      overlap: schedule.overlap,
      enabled: schedule.on,
      known_until: goesOn ? was.known_until : now,
    })
  }
  await disableOthers(desk.db, names)
}

/** Times of the old pattern that nobody decided would vanish with it: they are missed, and that is written down. */
async function closeOld(desk: NightDesk, was: WatchRow, now: Date): Promise<void> {
  const reading = readCron(was.cron)
  if (reading.kind === 'problem') return
  const nights = dueBetween(reading.cron, was.zone, { after: was.known_until, until: now })
  const note = 'the schedule was changed before a scheduler was there'
  await recordNights(desk.db, was.name, { nights, outcome: 'missed', note, known: now })
}

async function settle(desk: NightDesk, schedule: Schedule): Promise<void> {
  const { account, origin: kind } = desk.market
  const list = listName(listPath(schedule.list))
  for (let steps = 0; steps < mostSteps; steps++) {
    const now = await clock(desk)
    const rows = await readFacts(desk.db, { schedule: schedule.name, list, account, kind })
    const decided = new Set(rows.decided.map((at) => at.getTime()))
    const step = decide(schedule, { ...rows, now, decided })
    await take(desk, schedule, step)
    if (step.kind === 'rest') return
  }
  throw new Error(`expected schedule ${schedule.name} to come to rest within ${mostSteps} steps`)
}

async function clock(desk: NightDesk): Promise<Date> {
  return desk.now === undefined ? databaseNow(desk.db) : desk.now()
}

async function take(desk: NightDesk, schedule: Schedule, step: Step): Promise<void> {
  switch (step.kind) {
    case 'rest':
      return advance(desk.db, schedule.name, step.known)
    case 'record':
    case 'wait': {
      const outcome = step.kind === 'record' ? step.outcome : null
      await recordNights(desk.db, schedule.name, { ...step, outcome })
      return desk.tell(`${described(schedule, step.nights)} ${outcome ?? 'waits'}: ${step.note}`)
    }
    case 'close':
      await cancelRun(desk.db, step.busy.run)
      await noteRun(desk.db, step.busy.run, step.note)
      return desk.tell(`run ${step.busy.run} of ${step.busy.date} ${step.note}`)
    case 'run':
      return run(desk, schedule, step)
    default:
      throw new Error(`unhandled step ${JSON.stringify(step satisfies never)}`)
  }
}

type RunStep = Extract<Step, { kind: 'run' }>

/** Plans the run of a night; when another scheduler was first, nothing has happened here. */
async function run(desk: NightDesk, schedule: Schedule, step: RunStep): Promise<void> {
  try {
    const { plan, note } = await planNight(desk, schedule, step)
    await advance(desk.db, schedule.name, step.known)
    const what = step.into === null ? `is run ${plan.run}` : `joined run ${plan.run}`
    const rejected = plan.rejected === 0 ? '' : `, ${plan.rejected} lines rejected`
    desk.tell(
      `${described(schedule, [step.night])} ${what} (${step.outcome}): ${plan.queued} to buy, ${plan.reused} reused${rejected}${note === null ? '' : `; ${note}`}`,
    )
    await queueRun({ db: desk.db }, await desk.queue(), plan.run)
  } catch (error) {
    if (error instanceof NightTaken) return
    if (!(error instanceof Misuse)) throw error
    const note = error.message
    const { known, night } = step
    await recordNights(desk.db, schedule.name, { nights: [night], outcome: 'failed', note, known })
    desk.tell(`${described(schedule, [night])} failed: ${note}`)
  }
}

/** From the file as it is tonight; when it is gone or broken, from what was last read of it. */
async function planNight(desk: NightDesk, schedule: Schedule, step: RunStep) {
  const path = listPath(schedule.list)
  const list = listName(path)
  const joins = step.into === null ? null : `joined run ${step.into.run} of ${step.into.date}`
  const plan = (from: ListOrder['from'], note: string | null) =>
    planList(desk, orderOf(desk, { schedule, step, list, from, note }))
  try {
    return { plan: await plan({ kind: 'file', path, shown: schedule.list }, joins), note: joins }
  } catch (error) {
    if (!(error instanceof MillError) || error.next === 'retry') throw error
    const known = await findList(desk.db, list)
    if (known === null) throw error
    const why = `the queries last read are used, since the list cannot be read: ${error.message}`
    const note = joins === null ? why : `${joins}; ${why}`
    return { plan: await plan({ kind: 'members', list: known }, note), note }
  }
}

function orderOf(
  { maxAgeMs }: NightDesk,
  night: {
    schedule: Schedule
    step: RunStep
    list: string
    from: ListOrder['from']
    note: string | null
  },
): ListOrder {
  const { schedule, step, list, from, note } = night
  return {
    list,
    from,
    // Nobody is there to agree to a guess at night: a guessed encoding counts as a broken file.
    reading: {
      matchTypes: 'keep',
      yes: false,
      defaults: { ...noDefaults, priority: schedule.priority },
    },
    kind: 'nightly',
    runDate: step.night.date,
    budget: step.into === null ? schedule.budget : undefined,
    maxAgeMs: schedule.maxAgeMs ?? maxAgeMs,
    into: step.into?.run ?? null,
    record: (trx, id) =>
      takeNight(trx, {
        schedule: schedule.name,
        ...step.night,
        outcome: step.outcome,
        run: id,
        note,
      }),
  }
}

function described({ name, zone }: Schedule, nights: readonly { readonly at: Date }[]) {
  const [first] = nights
  const last = nights.at(-1)
  if (first === undefined || last === undefined) return name
  const times =
    first === last
      ? formatMinute(zone, first.at)
      : `${formatMinute(zone, first.at)} to ${formatMinute(zone, last.at)} (${nights.length} times)`
  return `${name} of ${times} ${zone}`
}
