import type { Mill } from '../mill/mill.ts'
import { openPart } from '../../queue/open.ts'
import { openTicker } from '../../queue/tick.ts'
import type { Scheduler } from './scheduler.ts'
import { scrubbedReason } from '../../shared/secret.ts'
import { troubleOf } from '../../store/trouble.ts'
import { lastLook } from '../../store/nights/watch.ts'
import { pause } from '../../shared/waiting.ts'

// The queue's clock ticks once a minute: after a longer silence something is wrong with it.
const silenceMs = 75_000
const lookEveryMs = 10_000

/** What ticks, and knows for how long nothing has made it tick. */
export type Ticking = Pick<Scheduler, 'tryTick' | 'silentFor' | 'close'>

export interface ClockOptions {
  readonly signal: AbortSignal
  readonly tell: (line: string) => void
  /** How often the queue's clock is checked for silence. */
  readonly lookMs?: number
}

/** Lets a scheduler tick by the queue's clock until the signal comes; a clock that falls silent is started again. */
export async function keepTime(
  mill: Mill,
  scheduler: Ticking,
  { signal, tell, lookMs = lookEveryMs }: ClockOptions,
): Promise<void> {
  await scheduler.tryTick()
  let clock: Stop | null = await startClock(mill, scheduler)
  try {
    while (!signal.aborted) {
      await pause(lookMs, signal)
      if (signal.aborted || scheduler.silentFor < silenceMs) continue
      if (await othersLook(mill)) continue
      tell('the clock of the queue is silent: it is started again')
      await clock?.()
      clock = await tryClock(mill, scheduler, tell)
      await scheduler.tryTick()
    }
  } finally {
    await clock?.()
    await scheduler.close()
  }
}

type Stop = () => Promise<void>

async function startClock(mill: Mill, scheduler: Ticking): Promise<Stop> {
  const ticker = await openPart(mill, { name: 'ticks', max: 3 }, (store, id) =>
    openTicker(store, id, () => scheduler.tryTick()),
  )
  return () => ticker.close()
}

async function tryClock(
  mill: Mill,
  scheduler: Ticking,
  tell: (line: string) => void,
): Promise<Stop | null> {
  try {
    return await startClock(mill, scheduler)
  } catch (error) {
    tell(`the clock of the queue does not start: ${scrubbedReason(error)}`)
    return null
  }
}

/** Another scheduler may be the one that the queue's clock wakes. */
async function othersLook(mill: Mill): Promise<boolean> {
  try {
    const ago = await lastLook(mill.db)
    return ago !== null && ago < silenceMs
  } catch (error) {
    if (troubleOf(error) === 'data') throw error
    return false
  }
}
