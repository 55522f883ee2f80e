import { rebuild } from '../../src/core/runs/rebuild.ts'
import { work } from '../../src/core/worker/work.ts'
import { openBenchMill, startStandIn, type Ground } from './ground.ts'
import { startMeter, type Reading } from './meter.ts'
import { planRun } from './plan.ts'

export interface WholeFigures extends Reading {
  readonly queries: number
  readonly perSecond: number
  /** CPU of one query in microseconds, without the stand-in. */
  readonly cpu: number
}

export interface WholeOptions {
  readonly redis: boolean
  readonly lanes: number
  readonly latencyMs: number
  readonly queries: number
  /** Queries answered before the measurement, so that prices are known and code is warm. */
  readonly warmUp?: number
}

/** Reservation, call, parsing and storing, end to end, by one worker in this process. */
export async function measureWhole(ground: Ground, options: WholeOptions): Promise<WholeFigures> {
  const { redis, lanes, latencyMs, queries, warmUp = 500 } = options
  const api = await startStandIn(latencyMs)
  const settings = { MILL_CONCURRENCY: String(lanes) }
  const mill = await openBenchMill(ground, { api, redis, settings, name: 'worker' })
  try {
    const drain = () =>
      work(mill, {
        drain: true,
        lanes,
        signal: new AbortController().signal,
        report: () => undefined,
      })
    if (warmUp > 0) {
      await rebuild(mill, await planRun(mill.db, warmUp))
      await drain()
    }
    await rebuild(mill, await planRun(mill.db, queries))
    const read = startMeter({
      postgres: ground.postgres.pid,
      ...(redis && ground.redis !== null ? { redis: ground.redis.pid } : {}),
      others: [api.pid],
    })
    const { answered, seconds, finish } = await drain()
    const reading = read()
    if (finish !== 'completed' || answered !== queries) {
      throw new Error(`expected ${queries} answers, got ${answered} and ${finish}`)
    }
    const cpu = (reading.node + reading.postgres + reading.redis) / queries
    return { ...reading, queries, perSecond: queries / seconds, cpu }
  } finally {
    await mill.close()
    await api.close()
  }
}
