import type { Mill } from '../mill/mill.ts'
import type { SliceJob } from '../../queue/slices.ts'
import { endRound } from '../../store/slices.ts'
import { troubleOf } from '../../store/trouble.ts'
import { pause } from '../../shared/waiting.ts'

const busyDelayMs = 2_000
const retryMs = 250

export interface RoundOptions {
  /** True when some tasks wait for a call that another worker has in flight. */
  readonly busy: boolean
  /** True once the worker puts things away. */
  readonly ending: () => boolean
}

/** Ends the round of a slice; what is still open in it comes again, in a job of the next round. */
export async function endSliceRound(
  mill: Mill,
  job: SliceJob,
  { busy, ending }: RoundOptions,
): Promise<void> {
  const next = await untilAnswered(() => endRound(mill.db, job), ending)
  if (next === null) return
  const delayMs = Math.max(next.delay_ms, busy ? busyDelayMs : 0)
  const { run, slice, round, priority, turn } = next
  const queue = await mill.queue()
  await queue.add([{ run, slice, round, priority, turn, delayMs }])
}

/** Tries until the database answers, as long as the worker goes on. */
async function untilAnswered<T>(ask: () => Promise<T>, ending: () => boolean): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (troubleOf(error) === 'data' || (ending() && troubleOf(error) === 'away')) throw error
      await pause(retryMs)
    }
  }
}
