import { Counter, Gauge, type Registry } from 'prom-client'
import { readGoodNights } from '../../store/nights/good.ts'
import { countSuspects } from '../../store/nights/odd-nights.ts'
import { readKeptOutlook } from '../../store/nights/kept-outlook.ts'
import { overdueNights } from '../../store/nights/overdue.ts'
import type { Database } from '../../store/database.ts'
import { countOpenTasks, readAccountGauges, readSuccesses } from '../../store/operator/gauges.ts'
import { countNotices } from '../../store/operator/notices.ts'
import { countLiveWorkers } from '../../store/operator/unattended.ts'
import { askSparingly } from './sparing.ts'

function gauge<L extends string = never>(
  registers: Registry[],
  { name, help, labelNames = [] }: { name: string; help: string; labelNames?: L[] },
): Gauge<L> {
  return new Gauge<L>({ name: `querymill_${name}`, help, labelNames, registers })
}

/** Balance, reservations and stops of the account. */
export function accountGauges(registers: Registry[]) {
  const remaining = gauge(registers, {
    name: 'credits_remaining',
    help: 'Balance of the account by its newest answer, spending since then taken off.',
  })
  const above = gauge(registers, {
    name: 'credits_above_floor',
    help: 'Balance less the floor in force: what can still be spent.',
  })
  const held = gauge(registers, {
    name: 'credits_held',
    help: 'Credits set aside for calls in flight and for calls that may have been charged.',
  })
  const flying = gauge(registers, {
    name: 'calls_in_flight',
    help: 'Calls of all workers in flight.',
  })
  const stopped = gauge(registers, {
    name: 'account_stopped',
    help: '1 while the account stands still for this reason.',
    labelNames: ['reason'],
  })
  const used = new Counter({
    name: 'querymill_credits_used_total',
    help: 'Credits used by all calls of the account, ever.',
    registers,
  })
  return async (db: Database, account: { name: string; kind: string; floor: number }) => {
    const found = await readAccountGauges(db, account)
    if (found === null || found.remaining === null) {
      // Not nought: nobody knows.
      remaining.remove()
      above.remove()
    } else {
      remaining.set(found.remaining)
      above.set(found.remaining - Math.max(found.floor ?? account.floor, 0))
    }
    if (found === null) return
    held.set(found.reserved + found.uncertain)
    flying.set(found.in_flight)
    used.reset()
    used.inc(found.used)
    stopped.reset()
    for (const reason of found.stops) stopped.set({ reason }, 1)
  }
}

/** Open work, who is there for it, and when lists last came to an end. */
export function listGauges(registers: Registry[], db: Database) {
  const success = gauge(registers, {
    name: 'last_success_timestamp_seconds',
    help: 'When a run of the list last came to its end with an answer that can be read.',
    labelNames: ['list'],
  })
  const open = gauge(registers, {
    name: 'tasks_open',
    help: 'Tasks of open runs still to be done.',
  })
  const workers = gauge(registers, { name: 'workers', help: 'Workers of all hosts that live.' })
  const unattended = gauge(registers, {
    name: 'tasks_unattended',
    help: 'Tasks of open runs while no worker lives; 0 while one does.',
  })
  // Counting reads every open task, which takes a while with millions of them, and probes come all the time.
  const countOpen = askSparingly(() => countOpenTasks(db))
  const countSuccesses = askSparingly(() => readSuccesses(db))
  return async () => {
    const [tasks, live] = [await countOpen(), await countLiveWorkers(db)]
    open.set(tasks)
    workers.set(live)
    unattended.set(live === 0 ? tasks : 0)
    for (const { list, seconds } of await countSuccesses()) success.set({ list }, seconds)
  }
}

/** What has become of nights, schedule by schedule. */
export function nightGauges(registers: Registry[], db: Database) {
  const overdue = gauge(registers, {
    name: 'nights_overdue',
    help: 'Nights of which nothing has become although they ought to have.',
  })
  const good = gauge(registers, {
    name: 'last_good_night_timestamp_seconds',
    help: 'When the newest night of the schedule was due whose run ended with an answer that can be read.',
    labelNames: ['schedule'],
  })
  const since = gauge(registers, {
    name: 'nights_since_good',
    help: 'Nights of the schedule since its last good one, those at work among them.',
    labelNames: ['schedule'],
  })
  const ask = askSparingly(() => readGoodNights(db))
  return async () => {
    overdue.set((await overdueNights(db)).length)
    const nights = await ask()
    // A schedule that is gone leaves no figure behind that would look like a bad one.
    good.reset()
    since.reset()
    for (const { schedule, seconds, nights_since: count } of nights) {
      if (seconds !== null) good.set({ schedule }, seconds)
      since.set({ schedule }, count)
    }
  }
}

/** What is to come, as it was last computed. */
export function outlookGauges(registers: Registry[]) {
  const credits = gauge(registers, {
    name: 'outlook_day_credits',
    help: 'Credits that the 24 hours after the last outlook will use.',
  })
  const days = gauge(registers, {
    name: 'outlook_days_to_floor',
    help: 'Days until the floor is met by the last outlook; absent while it is not met within thirty.',
  })
  const made = gauge(registers, {
    name: 'outlook_timestamp_seconds',
    help: 'When the outlook was last computed.',
  })
  return async (db: Database, account: { account: string; origin: string }) => {
    const found = await readKeptOutlook(db, account)
    // Not nought: nobody knows, or it does not come to that.
    for (const one of [credits, days, made]) one.remove()
    if (found === null) return
    made.set(found.made_s)
    if (found.day_credits !== null) credits.set(found.day_credits)
    if (found.floor_in_s !== null) days.set(Math.max(0, found.floor_in_s / 86_400))
  }
}

/** Runs that cannot be believed, list by list. */
export function suspectGauges(registers: Registry[], db: Database) {
  const suspects = gauge(registers, {
    name: 'nights_suspect',
    help: 'Runs of the list that ended in the last seven days and are suspect.',
    labelNames: ['list'],
  })
  const newest = gauge(registers, {
    name: 'last_night_suspect',
    help: '1 while the newest run of the list that has ended is suspect.',
    labelNames: ['list'],
  })
  return async () => {
    suspects.reset()
    newest.reset()
    for (const { list, nights, last } of await countSuspects(db)) {
      suspects.set({ list }, nights)
      newest.set({ list }, last ? 1 : 0)
    }
  }
}

/** Notices that MILL_WEBHOOK has not taken. */
export function newsGauges(registers: Registry[], db: Database) {
  const waiting = gauge(registers, {
    name: 'notices_waiting',
    help: 'Notices that the webhook has not taken yet.',
  })
  const lost = gauge(registers, {
    name: 'notices_given_up',
    help: 'Notices of the last day that were given up.',
  })
  return async () => {
    const found = await countNotices(db)
    waiting.set(found.waiting)
    lost.set(found.given_up)
  }
}
