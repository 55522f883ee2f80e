import { measureLedger, type Component } from './components.ts'
import { openGround, startStandIn } from './ground.ts'
import { measureWhole } from './whole.ts'

export interface LedgerFigures {
  readonly ledger: Component
  /** CPU of one query from gate to table. */
  readonly whole_cpu: number
  /** Part of it that gate and ledger take. */
  readonly share: number
  /** Calls reserved and settled in a second. */
  readonly per_second: number
}

/** What the gate and the ledger cost beside the whole, in one run. */
export async function benchLedger({ short }: { short: boolean }): Promise<LedgerFigures> {
  const ground = await openGround()
  try {
    const queries = short ? 2_000 : 10_000
    const api = await startStandIn(0)
    const ledger = await measureLedger({ ground, api, redis: false }, queries)
    await api.close()
    const whole = await measureWhole(ground, { redis: false, lanes: 64, latencyMs: 0, queries })
    const share = ledger.sum / whole.cpu
    return { ledger, whole_cpu: whole.cpu, share, per_second: ledger.perSecond }
  } finally {
    await ground.close()
  }
}
