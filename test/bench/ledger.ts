import { measureLedger, type Component } from './components.ts'
import { measureFar, type FarFigures } from './far.ts'
import { openGround, startStandIn } from './ground.ts'
import { measureWhole } from './whole.ts'

export interface LedgerFigures {
  readonly ledger: Component
  /** CPU of one query from reservation to storage. */
  readonly whole_cpu: number
  /** Part of it used by the ledger. */
  readonly share: number
  /** Calls reserved and settled per second. */
  readonly per_second: number
  /** The same for four workers, by distance of their database and group size. */
  readonly far: readonly FarFigures[]
}

const workers = 4
const eachWayMs = [0, 1, 2]
/** Group sizes: those typical of lanes that become free together with 64 lanes, and the maximum. */
const groups = [32, 128]

/** Cost of the ledger compared with the whole, in one run. */
export async function benchLedger({ short }: { short: boolean }): Promise<LedgerFigures> {
  const ground = await openGround()
  try {
    const queries = short ? 2_000 : 10_000
    const api = await startStandIn(0)
    const ledger = await measureLedger({ ground, api, redis: false }, queries)
    const far: FarFigures[] = []
    for (const group of groups) {
      for (const ms of eachWayMs) {
        const options = { workers, group, eachWayMs: ms, calls: queries * 2 }
        far.push(await measureFar({ ground, api }, options))
      }
    }
    await api.close()
    const whole = await measureWhole(ground, { redis: false, lanes: 64, latencyMs: 0, queries })
    const share = ledger.sum / whole.cpu
    return { ledger, whole_cpu: whole.cpu, share, per_second: ledger.perSecond, far }
  } finally {
    await ground.close()
  }
}
