// Metrics in Prometheus format, read from the database for each scrape.

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { clock, clockBefore, secondsOf } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { dayMs } from '../../base/time/zone.ts'
import { readStoredForecast } from '../../core/forecast/stored-forecast.ts'
import type { Supplier } from '../../core/mill.ts'
import { overdueNights } from '../../core/nights/nights.ts'
import { floorInForce, shownBalance } from '../../core/ledger/standstill.ts'
import { hasAnswer, readGoodNights } from '../../core/nights/odd-nights.ts'
import { countLiveWorkers, countOpenTasks } from '../../core/runs/waits.ts'
import { countNotices } from './news.ts'

const states = ['answered', 'reused', 'failed', 'unknown'] as const

/** Number of tasks finished by a worker, by outcome. */
export type TaskCounts = Readonly<Record<(typeof states)[number], number>>

interface MetricsOptions {
  readonly db: Database
  readonly supplier: Supplier
  /** Configured credit floor of this process; in force while no worker is alive. */
  readonly floor: number
  /** Counts of the worker in this process; absent if there is none. */
  readonly counted?: () => TaskCounts
  /** Text of further metrics, such as those of the queue. */
  readonly more?: () => Promise<string>
}

/**
 * Names and units follow Prometheus conventions. No label contains a query, because the number of queries is unlimited.
 */
export function openMetrics(options: MetricsOptions) {
  const { db, supplier, floor, counted, more } = options
  const registers = [new Registry()]
  const [registry = new Registry()] = registers
  collectDefaultMetrics({ register: registry })
  const duration = new Histogram({
    name: 'querymill_api_request_duration_seconds',
    help: 'Time from sending a paid request to its whole answer.',
    buckets: [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60],
    registers,
  })
  if (counted !== undefined) mirrorTasks(registers, counted)
  const gauge = gaugesIn(registers)
  const collectAccount = accountGauges(gauge, registers)
  const collectForecast = forecastGauges(gauge)
  const collect = [listGauges, nightGauges, suspectGauges, noticeGauges].map((open) =>
    open(gauge, db),
  )
  return {
    /** Records the duration of a paid request, in seconds. */
    observe: (seconds: number) => duration.observe(seconds),
    text: async () => {
      const account = { name: supplier.account, kind: supplier.origin, floor }
      await Promise.all([
        collectAccount(db, account),
        collectForecast(db, supplier),
        ...collect.map((ask) => ask()),
      ])
      const own = await registry.metrics()
      if (more === undefined) return own
      // If the queue is unreachable, the metrics from the database are still shown.
      const others = await more().catch(() => '# the queue does not answer')
      return `${own}\n${others}\n`
    },
  }
}

/** Counter of the tasks finished since the worker started. */
function mirrorTasks(registers: Registry[], counted: () => TaskCounts): void {
  const seen = { answered: 0, reused: 0, failed: 0, unknown: 0 }
  const tasks = new Counter({
    name: 'querymill_tasks_total',
    help: 'Tasks that this worker completed, by their final state.',
    labelNames: ['state'],
    registers,
    collect: () => {
      const now = counted()
      for (const state of states) {
        tasks.inc({ state }, Math.max(0, now[state] - seen[state]))
        seen[state] = now[state]
      }
    },
  })
}

type MakeGauge = ReturnType<typeof gaugesIn>

function gaugesIn(registers: Registry[]) {
  return <L extends string = never>(name: string, help: string, ...labelNames: L[]) =>
    new Gauge<L>({ name: `querymill_${name}`, help, labelNames, registers })
}

/** Balance, reservations and stops of the account. */
function accountGauges(gauge: MakeGauge, registers: Registry[]) {
  const remaining = gauge(
    'credits_remaining',
    'Balance reported by the newest answer, minus the spending since then.',
  )
  const above = gauge(
    'credits_above_floor',
    'Balance less the floor in force: what can still be spent.',
  )
  const held = gauge(
    'credits_held',
    'Credits set aside for calls in flight and for calls that may have been charged.',
  )
  const flying = gauge('calls_in_flight', 'Calls of all workers in flight.')
  const stopped = gauge(
    'account_stopped',
    '1 while the account is stopped for this reason.',
    'reason',
  )
  const used = new Counter({
    name: 'querymill_credits_used_total',
    help: 'Credits used by all calls of the account, ever.',
    registers,
  })
  return async (db: Database, account: { name: string; kind: string; floor: number }) => {
    const found = await readAccountGauges(db, account)
    if (found === null || found.remaining === null) {
      // The metric is absent rather than 0, because the value is unknown.
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

/** Open tasks, live workers, and when each list was last completed. */
function listGauges(gauge: MakeGauge, db: Database) {
  const success = gauge(
    'last_success_timestamp_seconds',
    'Time when a run of the list last ended with at least one readable answer.',
    'list',
  )
  const open = gauge('tasks_open', 'Tasks of open runs still to be done.')
  const workers = gauge('workers', 'Live workers on all hosts.')
  const unattended = gauge(
    'tasks_unattended',
    'Tasks of open runs while no worker is alive; 0 while one is.',
  )
  // Counting reads every open task, which is slow with millions of them, and scrapes are frequent.
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

function nightGauges(gauge: MakeGauge, db: Database) {
  const overdue = gauge('nights_overdue', 'Nights that are due and have no outcome.')
  const good = gauge(
    'last_good_night_timestamp_seconds',
    'Due time of the newest night of the schedule whose run ended with at least one readable answer.',
    'schedule',
  )
  const since = gauge(
    'nights_since_good',
    'Nights of the schedule since its last good one, including those in progress.',
    'schedule',
  )
  const ask = askSparingly(() => readGoodNights(db))
  return async () => {
    overdue.set((await overdueNights(db)).length)
    const nights = await ask()
    // Drops the metrics of removed schedules; otherwise these would look like failures.
    good.reset()
    since.reset()
    for (const { schedule, seconds, nights_since: count } of nights) {
      if (seconds !== null) good.set({ schedule }, seconds)
      since.set({ schedule }, count)
    }
  }
}

function forecastGauges(gauge: MakeGauge) {
  const credits = gauge(
    'forecast_day_credits',
    'Credits that the 24 hours after the last forecast will use.',
  )
  const days = gauge(
    'forecast_days_to_floor',
    'Days until the credit floor is reached, by the last forecast; absent while it is not reached within thirty.',
  )
  const made = gauge('forecast_timestamp_seconds', 'When the forecast was last computed.')
  return async (db: Database, account: { account: string; origin: string }) => {
    const found = await readStoredForecast(db, account)
    // These metrics are absent rather than 0, because the value is unknown or the event will not occur.
    for (const one of [credits, days, made]) one.remove()
    if (found === null) return
    made.set(found.made_s)
    if (found.day_credits !== null) credits.set(found.day_credits)
    if (found.floor_in_s !== null) days.set(Math.max(0, found.floor_in_s / 86_400))
  }
}

/** Suspect runs per list. */
function suspectGauges(gauge: MakeGauge, db: Database) {
  const suspects = gauge(
    'nights_suspect',
    'Runs of the list that ended in the last seven days and are suspect.',
    'list',
  )
  const newest = gauge(
    'last_night_suspect',
    '1 while the newest run of the list that has ended is suspect.',
    'list',
  )
  return async () => {
    suspects.reset()
    newest.reset()
    for (const { list, nights, last } of await countSuspects(db)) {
      suspects.set({ list }, nights)
      newest.set({ list }, last ? 1 : 0)
    }
  }
}

/** Notices that MILL_WEBHOOK has not accepted. */
function noticeGauges(gauge: MakeGauge, db: Database) {
  const waiting = gauge('notices_waiting', 'Notices that the webhook has not accepted yet.')
  const lost = gauge('notices_given_up', 'Notices of the last day that were given up.')
  return async () => {
    const found = await countNotices(db)
    waiting.set(found.waiting)
    lost.set(found.given_up)
  }
}

const restShare = 20

/** Spends at most a twentieth of the time on a query: a result that took a second is reused for twenty seconds. */
export function askSparingly<T>(
  ask: () => Promise<T>,
  now = () => performance.now(),
): () => Promise<T> {
  let kept: { readonly value: T; readonly until: number } | undefined
  return async () => {
    const began = now()
    if (kept !== undefined && began < kept.until) return kept.value
    const value = await ask()
    const ended = now()
    kept = { value, until: ended + restShare * (ended - began) }
    return value
  }
}

/** Counts the suspect runs judged in the last seven days per list, and whether the newest is suspect. */
function countSuspects(db: Database) {
  return db
    .selectFrom('runs')
    .innerJoin('lists', 'lists.id', 'runs.list_id')
    .select((eb) => [
      'lists.name as list',
      eb.fn.countAll<number>().filterWhere('runs.suspect', '=', true).as('nights'),
      sql<boolean>`(
        array_agg(${eb.ref('runs.suspect')} order by ${eb.ref('runs.run_date')} desc, ${eb.ref('runs.id')} desc)
      )[1]`.as('last'),
    ])
    .where('runs.state', 'in', ['done', 'cancelled'])
    .where('runs.finished_at', '>', clockBefore(7 * dayMs))
    .groupBy('lists.name')
    .orderBy('lists.name')
    .execute()
}

/** Reads an account's gauges from the ledger; null before its first call. */
async function readAccountGauges(db: Database, { name, kind }: { name: string; kind: string }) {
  const gauges = await db
    .selectFrom('accounts as a')
    .select((eb) => [
      shownBalance.as('remaining'),
      'a.reserved',
      'a.uncertain',
      'a.in_flight',
      'a.used_total as used',
      floorInForce.as('floor'),
      eb
        .fn<string[]>('array', [
          eb
            .selectFrom('stops')
            .select('stops.reason')
            .whereRef('stops.account_id', '=', 'a.id')
            .where('stops.cleared_at', 'is', null)
            .where((stop) =>
              stop.or([stop('stops.until', 'is', null), stop('stops.until', '>', clock)]),
            ),
        ])
        .as('stops'),
    ])
    .where('a.name', '=', name)
    .where('a.kind', '=', kind)
    .executeTakeFirst()
  return gauges ?? null
}

/** Seconds since each list last had a run that ended with a readable answer. */
function readSuccesses(db: Database) {
  return db
    .selectFrom('lists')
    .crossJoinLateral((eb) =>
      eb
        .selectFrom('runs as r')
        .select('r.finished_at')
        .whereRef('r.list_id', '=', 'lists.id')
        .where('r.state', '=', 'done')
        .where(hasAnswer)
        .orderBy('r.finished_at', 'desc')
        .limit(1)
        .as('newest'),
    )
    .select((eb) => [
      'lists.name as list',
      secondsOf(eb.ref('newest.finished_at')).$notNull().as('seconds'),
    ])
    .orderBy('lists.name')
    .execute()
}
