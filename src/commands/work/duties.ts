import { asError } from '../../shared/errors.ts'
import { replay } from './unwritten.ts'
import type { Mill } from '../mill/mill.ts'
import { troubleOf } from '../../store/trouble.ts'
import type { Worker } from './worker.ts'

/** Keeps the lease, gives up calls of workers that died, releases reservations nobody heard of. */
export function startDuties(
  mill: Mill,
  worker: Worker,
  tell: (line: string) => void,
): { stop: () => void } {
  const { leaseMs } = mill.config
  const guard = (duty: () => Promise<unknown>) => () => {
    duty().catch((error: unknown) => {
      if (troubleOf(error) === 'data') worker.fatal = asError(error)
      else worker.outages.mark('the database', true)
    })
  }
  const beat = setInterval(
    guard(() => worker.lease.beat()),
    leaseMs / 6,
  )
  const reap = setInterval(
    guard(async () => {
      // Answers that a worker kept in a file are not lost: their calls must not be given up and bought again.
      await replay(mill, worker.clerk, tell)
      await worker.lease.reap(worker.clerk)
      await worker.lease.release(worker.clerk, worker.known)
      worker.dispatch.nudge()
    }),
    Math.min(leaseMs / 4, 15_000),
  )
  return {
    stop: () => {
      clearInterval(beat)
      clearInterval(reap)
    },
  }
}
