import type { Mill } from './mill.ts'
import { troubleOf } from './store/trouble.ts'
import type { Worker } from './worker.ts'

/** Keeps the lease, gives up calls of workers that died, releases reservations nobody heard of. */
export function startDuties(mill: Mill, worker: Worker): { stop: () => void } {
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

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
