// Metrics in Prometheus format, read from the database for each scrape.

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { clock, clockBefore, secondsOf } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { dayMs } from '../../base/time/zone.ts'
import { readStoredForecast } from '../../core/forecast/stored-forecast.ts'
import type { Supplier } from '../../core/mill.ts'
import { floorInForce, shownBalance } from '../../core/ledger/standstill.ts'
import { hasAnswer, overdueNights, readGoodNights } from '../../core/nights/nights.ts'
import { countLiveWorkers, countOpenTasks } from '../../core/runs/waits.ts'
import { countNotices } from './news.ts'

const states = ['answered', 'reused', 'failed', 'unknown'] as const

export type TaskCounts = Readonly<Record<(typeof states)[number], number>>

interface MetricsOptions {
  readonly db: Database
  readonly supplier: Supplier
  /** This process's configured credit floor, which is in force while no worker is alive. */
  readonly floor: number
  /** Returns the task counts of this process's worker; undefined if there is no worker. */
  readonly counted?: () => TaskCounts
  readonly more?: () => Promise<string>
}

/** Metrics by name, each with its meaning and its label name. There are too many queries to use them as labels. */
const described = {
  credits_remaining: ['Balance reported by the newest answer, minus the spending since then.'],
  credits_above_floor: ['Credits that can still be spent: the balance minus the floor in force.'],
  credits_held: ['Credits set aside for calls in flight and for calls that may have been charged.'],
  credits_used_total: ["Total credits used by the account's calls."],
  calls_in_flight: ['Calls in flight across all workers.'],
  account_stopped: ['1 while the account is stopped for this reason.', 'reason'],
  tasks_total: ['Tasks that this worker completed, by their final state.', 'state'],
  tasks_open: ['Unfinished tasks of open runs.'],
  workers: ['Live workers on all hosts.'],
  tasks_unattended: ['Tasks of open runs while no worker is alive; otherwise 0.'],
  last_success_timestamp_seconds: [
    'Time when a run of the list last ended with at least one readable answer.',
    'list',
  ],
  nights_overdue: ['Nights that are due and have no outcome.'],
  last_good_night_timestamp_seconds: [
    "Due time of each schedule's newest night that ended with at least one readable answer.",
    'schedule',
  ],
  nights_since_good: [
    "Number of nights since the schedule's last successful night, including nights in progress.",
    'schedule',
  ],
  nights_suspect: ['Suspect runs of the list that ended in the last seven days.', 'list'],
  last_night_suspect: ["1 while the list's newest ended run is suspect.", 'list'],
  forecast_day_credits: ['Expected credit use in the 24 hours after the last forecast.'],
  forecast_days_to_floor: [
    'Days until the credit floor is reached, according to the last forecast; absent if it is not reached within 30 days.',
  ],
  forecast_timestamp_seconds: ['Time of the last forecast.'],
  notices_waiting: ['Notices that the webhook has not accepted yet.'],
  notices_given_up: ['Notices given up in the last day.'],
} as const satisfies Record<string, readonly [help: string, label?: string]>

/** Value of each metric: one number, or one number per label. A metric with an unknown value (null) is omitted. */
type Figures = Partial<
  Record<keyof typeof described, number | null | readonly (readonly [string, number])[]>
>

export function openMetrics({ db, supplier, floor, counted, more }: MetricsOptions) {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const duration = new Histogram({
    name: 'querymill_api_request_duration_seconds',
    help: 'Time from sending a paid request to receiving its whole answer.',
    buckets: [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60],
    registers,
  })
  const show = openFigures(registry)
  const account = { name: supplier.account, kind: supplier.origin, floor }
  const sources = [
    () => accountFigures(db, account),
    () => forecastFigures(db, supplier),
    taskFigures(db),
    nightFigures(db),
    () => suspectFigures(db),
    async () => {
      const { waiting, given_up: lost } = await countNotices(db)
      return { notices_waiting: waiting, notices_given_up: lost }
    },
    async () => {
      const counts = counted?.()
      return counts === undefined ? {} : { tasks_total: states.map((each) => [each, counts[each]]) }
    },
  ] satisfies (() => Promise<Figures>)[]
  return {
    /** Records the duration of a paid request, in seconds. */
    observe: (seconds: number) => duration.observe(seconds),
    text: async () => {
      for (const figures of await Promise.all(sources.map((read) => read()))) show(figures)
      const own = await registry.metrics()
      if (more === undefined) return own
      // If the queue is unreachable, the metrics from the database are still shown.
      const others = await more().catch(() => '# the queue does not answer')
      return `${own}\n${others}\n`
    },
  }
}

function openFigures(registry: Registry): (figures: Figures) => void {
  const metrics = new Map(
    Object.entries(described).map(([name, [help, label]]) => {
      const labelNames = label === undefined ? [] : [label]
      const options = { name: `querymill_${name}`, help, labelNames, registers: [registry] }
      const metric: Pick<Gauge, 'inc' | 'remove' | 'reset'> = name.endsWith('_total')
        ? new Counter(options)
        : new Gauge(options)
      return [name, { metric, label }] as const
    }),
  )
  return (figures) => {
    for (const [name, figure] of Object.entries(figures)) {
      const { metric, label = '' } = metrics.get(name) ?? {}
      metric?.reset()
      if (figure === null) metric?.remove()
      else if (typeof figure === 'number') metric?.inc(figure)
      else for (const [value, number] of figure) metric?.inc({ [label]: value }, number)
    }
  }
}

async function accountFigures(
  db: Database,
  account: { readonly name: string; readonly kind: string; readonly floor: number },
): Promise<Figures> {
  const found = await db
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
    .where('a.name', '=', account.name)
    .where('a.kind', '=', account.kind)
    .executeTakeFirst()
  // The account has no row before its first call.
  if (found === undefined) return { credits_remaining: null, credits_above_floor: null }
  const { remaining, floor } = found
  const inForce = Math.max(floor ?? account.floor, 0)
  return {
    credits_remaining: remaining,
    credits_above_floor: remaining === null ? null : remaining - inForce,
    credits_held: found.reserved + found.uncertain,
    credits_used_total: found.used,
    calls_in_flight: found.in_flight,
    account_stopped: found.stops.map((reason) => [reason, 1]),
  }
}

function taskFigures(db: Database): () => Promise<Figures> {
  // Counting millions of open tasks at each scrape would be slow.
  const countOpen = askSparingly(() => countOpenTasks(db))
  const readNewest = askSparingly(() => readSuccesses(db))
  return async () => {
    const [tasks, live] = [await countOpen(), await countLiveWorkers(db)]
    const successes = await readNewest()
    return {
      tasks_open: tasks,
      tasks_unattended: live === 0 ? tasks : 0,
      workers: live,
      last_success_timestamp_seconds: successes.map(({ list, seconds }) => [list, seconds]),
    }
  }
}

function nightFigures(db: Database): () => Promise<Figures> {
  const ask = askSparingly(() => readGoodNights(db))
  return async () => {
    const nights = await ask()
    return {
      nights_overdue: (await overdueNights(db)).length,
      last_good_night_timestamp_seconds: nights.flatMap(({ schedule, seconds }) =>
        seconds === null ? [] : [[schedule, seconds] as const],
      ),
      nights_since_good: nights.map((one) => [one.schedule, one.nights_since]),
    }
  }
}

async function forecastFigures(db: Database, supplier: Supplier): Promise<Figures> {
  const found = await readStoredForecast(db, supplier)
  const floorInS = found?.floor_in_s ?? null
  return {
    forecast_day_credits: found?.day_credits ?? null,
    forecast_days_to_floor: floorInS === null ? null : Math.max(0, floorInS / 86_400),
    forecast_timestamp_seconds: found?.made_s ?? null,
  }
}

/** Counts each list's suspect runs in the last seven days, and shows whether its newest run is suspect. */
async function suspectFigures(db: Database): Promise<Figures> {
  const lists = await db
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
  return {
    nights_suspect: lists.map(({ list, nights }) => [list, nights]),
    last_night_suspect: lists.map(({ list, last }) => [list, last ? 1 : 0]),
  }
}

const restShare = 20

/** Limits the load of a database query by reusing its result for twenty times the query's duration. */
export function askSparingly<T>(ask: () => Promise<T>, now = () => performance.now()) {
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

/** Reads the end of each list's newest run with a readable answer, in seconds since 1970. */
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
