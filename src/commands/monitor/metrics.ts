import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client'
import type { Supplier } from '../mill/supplier.ts'
import type { Database } from '../../store/database.ts'
import {
  accountGauges,
  listGauges,
  newsGauges,
  nightGauges,
  outlookGauges,
  suspectGauges,
} from './gauges.ts'

const states = ['answered', 'reused', 'failed', 'unknown'] as const

/** How many tasks a worker has brought to each end so far. */
export type TaskCounts = Readonly<Record<(typeof states)[number], number>>

export interface MetricsOptions {
  readonly db: Database
  readonly supplier: Supplier
  /** Credits that must stay by this process's settings: in force while no worker lives. */
  readonly floor: number
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
  const collectAccount = accountGauges(registers)
  const collectOutlook = outlookGauges(registers)
  const collect = [listGauges, nightGauges, suspectGauges, newsGauges].map((open) =>
    open(registers, db),
  )
  return {
    observe: (seconds) => duration.observe(seconds),
    text: async () => {
      const account = { name: supplier.account, kind: supplier.origin, floor }
      await Promise.all([
        collectAccount(db, account),
        collectOutlook(db, supplier),
        ...collect.map((ask) => ask()),
      ])
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
