import { setTimeout as sleep } from 'node:timers/promises'
import { start, type Result, type Running } from '../support/run.ts'

/** Exit of a drain that had no database for half a minute: unwritten answers are in a file. */
const outOfReach = 5
const restartMs = 1_000

/** A worker that is restarted whenever a dependency was unreachable, as systemd and Kubernetes do. */
export interface Kept {
  readonly kill: (signal: NodeJS.Signals) => void
  readonly ended: Promise<Result>
  readonly restarts: () => number
}

/** Starts a worker and restarts it until it exits for another reason. */
export function keepWorker(env: Readonly<Record<string, string>>): Kept {
  const again = (): Running => start('work', ['--drain', '--json'], env)
  let worker = again()
  let restarts = 0
  const keep = async (): Promise<Result> => {
    for (;;) {
      const result = await worker.ended
      if (result.code !== outOfReach) return result
      await sleep(restartMs)
      restarts += 1
      worker = again()
    }
  }
  return { kill: (signal) => worker.kill(signal), ended: keep(), restarts: () => restarts }
}
