import { setInterval } from 'node:timers'
import { openGround } from './ground.ts'
import { measureWhole } from './whole.ts'

export interface SoakFigures {
  readonly queries: number
  readonly per_second: number
  /** Memory of the worker in megabytes, as it was at ten times of the run. */
  readonly rss: readonly number[]
  readonly largest: number
}

/** One worker with 500 lanes over many queries: its memory ought to stay where it is. */
export async function benchSoak(queries: number): Promise<SoakFigures> {
  const ground = await openGround()
  const seen: number[] = []
  const timer = setInterval(() => seen.push(process.memoryUsage.rss() / 1_048_576), 1_000)
  try {
    const whole = await measureWhole(ground, { redis: false, lanes: 500, latencyMs: 0, queries })
    const tenth = Math.max(1, Math.floor(seen.length / 10))
    const rss = seen.filter((_, index) => index % tenth === 0).map(Math.round)
    return { queries, per_second: whole.perSecond, rss, largest: Math.round(Math.max(...seen)) }
  } finally {
    clearInterval(timer)
    await ground.close()
  }
}
