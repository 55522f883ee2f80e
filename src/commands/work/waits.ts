import { unhandled } from '../../shared/errors.ts'
import { count } from '../../shared/terminal/wording.ts'
import { troubleOf } from '../../store/trouble.ts'
import { readWaits, type Wait } from '../../store/operator/waits.ts'
import type { Mill } from '../mill/mill.ts'
import type { Worker } from './worker.ts'

/** Nothing in flight and nothing ended for so long: somebody wonders why. */
const quietMs = 3_000
const lookMs = 3_000

/** Says what open tasks wait for, and until when: once, and again when it is something else. */
export class Waits {
  readonly #mill: Mill
  readonly #tell: (line: string) => void
  #said = new Set<string>()
  #lookAt = 0

  constructor(mill: Mill, tell: (line: string) => void) {
    this.#mill = mill
    this.#tell = tell
  }

  async look({ dispatch, tally, lease }: Worker): Promise<void> {
    const now = performance.now()
    if (dispatch.flying > 0 || dispatch.standstill !== null || tally.stillFor < quietMs) return
    if (now < this.#lookAt) return
    this.#lookAt = now + lookMs
    const waits = await this.#read(lease.worker)
    for (const wait of waits) if (!this.#said.has(keyOf(wait))) this.#tell(describeWait(wait))
    this.#said = new Set(waits.map(keyOf))
  }

  async #read(own: number): Promise<readonly Wait[]> {
    try {
      return await readWaits(this.#mill.db, own)
    } catch (error) {
      if (troubleOf(error) === 'data') throw error
      return []
    }
  }
}

/** A living worker renews its lease all the time: that is no change. */
function keyOf(wait: Wait): string {
  return wait.kind === 'lease' ? `lease ${wait.worker}` : `pause ${wait.until}`
}

/** What is waited for, as a sentence. */
function describeWait(wait: Wait): string {
  switch (wait.kind) {
    case 'lease': {
      const { calls, worker, host, pid, until } = wait
      return `waiting for ${count(calls, 'call')} of worker ${worker} (${host}, process ${pid}): if it is dead, its lease ends at ${until} and they are tried again`
    }
    case 'pause': {
      const { tasks, error, until } = wait
      const why = error === null ? '' : ` (${error})`
      return `waiting until ${until} to try ${count(tasks, 'task')} again${why}`
    }
    default:
      throw unhandled('wait', wait)
  }
}
