import type { Query } from '../../shared/query.ts'
import { dayMs } from '../../shared/time/duration.ts'
import { localDate } from '../../shared/time/zone.ts'
import { costClass } from '../../credits/account.ts'
import { readReading } from '../../lists/flags.ts'
import type { Expanding } from '../../store/planning/expansions.ts'
import { readyUnasked, recordRun, TakenElsewhere } from '../../store/planning/taking.ts'
import { askToBuy, type AskPerson } from '../enqueue/agree.ts'
import {
  estimateCost,
  foreseeBalance,
  needsYes,
  type Balance,
  type Estimate,
} from '../enqueue/estimate.ts'
import { openCost, planList, queueRun } from '../enqueue/planning.ts'
import type { Mill } from '../mill/mill.ts'
import type { ExpandOrder } from './intake.ts'
import type { ExpansionStand } from './standing.ts'

/** What expanding works with. */
export type ExpandDesk = Pick<Mill, 'config' | 'db' | 'supplier' | 'queue'>

/** What a purchase comes to, before it is agreed to. */
export interface Preview {
  readonly queries: number
  readonly estimate: Estimate
  readonly balance: Balance
}

/** Foresees what these queries will cost, beside everything that is open. */
export async function preview(
  desk: ExpandDesk,
  { funds, left }: ExpansionStand,
  queries: readonly Query[],
): Promise<Preview> {
  const toBuy = queries.map(({ num, device }) => ({ num, device, tasks: 1 }))
  const estimate = withinBudget(estimateCost(toBuy, funds.costs, costClass), left)
  const { remaining } = funds
  const floor = Math.max(desk.config.creditFloor, funds.floor ?? 0)
  const open = await openCost(desk, funds)
  const balance = foreseeBalance(estimate, { remaining, floor, budget: left, open })
  return { queries: queries.length, estimate, balance }
}

/** What is above the budget is never bought. */
function withinBudget({ credits, worst, basis }: Estimate, budget: number): Estimate {
  const most = (found: number | null) => (found === null ? null : Math.min(found, budget))
  return { credits: most(credits), worst: most(worst), basis }
}

/** Asks a person before live credits are spent by the thousand, as for every other purchase. */
export async function agreed(
  { origin }: Mill['supplier'],
  { queries, estimate }: Preview,
  { yes, ask }: { yes: boolean; ask: AskPerson },
): Promise<boolean> {
  if (origin !== 'live' || yes || !needsYes(queries, estimate)) return true
  return askToBuy(queries, ask, 'nothing was taken or queued')
}

/** Plans a run of what was taken and is unasked, as every list is planned; null: somebody else does so just now. */
export async function planUnasked(
  desk: ExpandDesk,
  order: ExpandOrder,
  { expanding, budget }: { expanding: Expanding; budget: number },
): Promise<number | null> {
  const { db, config } = desk
  await readyUnasked(db, expanding)
  try {
    const { run } = await planList(desk, {
      list: order.into,
      from: { kind: 'members', list: expanding.into },
      reading: readReading({}),
      kind: 'manual',
      runDate: localDate(config.zone, new Date()),
      budget,
      maxAgeMs: mostAgeMs,
      into: null,
      record: (trx, planned) => recordRun(trx, planned, expanding),
    })
    await queueRun({ db }, await desk.queue(), run)
    return run
  } catch (error) {
    if (error instanceof TakenElsewhere) return null
    throw error
  }
}

/** An answer that is there is never bought again here, however old it is. */
const mostAgeMs = 36_500 * dayMs
