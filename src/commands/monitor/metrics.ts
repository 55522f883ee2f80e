import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Supplier } from '../mill/supplier.ts'
import { overdueNights } from '../../store/nights/overdue.ts'
import type { Database } from '../../store/database.ts'
import { countOpenTasks, readAccountGauges, readSuccesses } from '../../store/operator/gauges.ts'

const states = ['answered', 'reused', 'failed', 'unknown'] as const

/** How many tasks a worker has brought to each end so far. */
export type TaskCounts = Readonly<Record<(typeof states)[number], number>>

export interface MetricsOptions {
  readonly db: Database
  readonly supplier: Supplier
  /** Sums of the worker in this process; absent in a process that has none. */
  readonly counted?: () => TaskCounts
  /** Text of further metrics, such as those of the queue. */
  readonly more?: () => Promise<string>
}

export interface Metrics {
  /** A paid request came back after so many seconds. */
  observe(seconds: number): void
  text(): Promise<string>
}

/** Names and units by the conventions of Prometheus. No label holds a query: their number has no end. */
export function openMetrics(options: MetricsOptions): Metrics {
  const { db, supplier, counted, more } = options
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
  const collectAccount = accountGauges(registers)
  const collectLists = listGauges(registers, db)
  return {
    observe: (seconds) => duration.observe(seconds),
    text: async () => {
      const account = { name: supplier.account, kind: supplier.origin }
      await Promise.all([collectAccount(db, account), collectLists()])
      const own = await registry.metrics()
      if (more === undefined) return own
      // A queue that is away must not hide what the tables say.
      const others = await more().catch(() => '# the queue does not answer')
      return `${own}\n${others}\n`
    },
  }
}

/** A counter that follows the worker's own sums: what it ended since it began. */
function mirrorTasks(registers: Registry[], counted: () => TaskCounts): void {
  const seen = { answered: 0, reused: 0, failed: 0, unknown: 0 }
  const tasks = new Counter({
    name: 'querymill_tasks_total',
    help: 'Tasks that this worker brought to an end, by the state they ended in.',
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

function gauge<L extends string = never>(
  registers: Registry[],
  { name, help, labelNames = [] }: { name: string; help: string; labelNames?: L[] },
): Gauge<L> {
  return new Gauge<L>({ name: `querymill_${name}`, help, labelNames, registers })
}

function accountGauges(registers: Registry[]) {
  const remaining = gauge(registers, {
    name: 'credits_remaining',
    help: 'Balance of the account by its newest answer, spending since then taken off.',
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
  return async (db: Database, account: { name: string; kind: string }) => {
    const found = await readAccountGauges(db, account)
    if (found === null) return
    if (found.remaining !== null) remaining.set(found.remaining)
    held.set(found.reserved + found.uncertain)
    flying.set(found.in_flight)
    used.reset()
    used.inc(found.used)
    stopped.reset()
    for (const reason of found.stops) stopped.set({ reason }, 1)
  }
}

function listGauges(registers: Registry[], db: Database) {
  const success = gauge(registers, {
    name: 'last_success_timestamp_seconds',
    help: 'When a run of the list last came to its end.',
    labelNames: ['list'],
  })
  const open = gauge(registers, {
    name: 'tasks_open',
    help: 'Tasks of open runs still to be done.',
  })
  const overdue = gauge(registers, {
    name: 'nights_overdue',
    help: 'Nights of which nothing has become although they ought to have.',
  })
  // Counting reads every open task, which takes a while with millions of them, and probes come all the time.
  const countOpen = askSparingly(() => countOpenTasks(db))
  return async () => {
    open.set(await countOpen())
    overdue.set((await overdueNights(db)).length)
    for (const { list, seconds } of await readSuccesses(db)) success.set({ list }, seconds)
  }
}

const restShare = 20

/** Asks for at most a twentieth of the time: an answer that took a second is given again for twenty seconds. */
export function askSparingly<T>(
  ask: () => Promise<T>,
  clock = () => performance.now(),
): () => Promise<T> {
  let kept: { readonly value: T; readonly until: number } | undefined
  return async () => {
    const began = clock()
    if (kept !== undefined && began < kept.until) return kept.value
    const value = await ask()
    const ended = clock()
    kept = { value, until: ended + restShare * (ended - began) }
    return value
  }
}
