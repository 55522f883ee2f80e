import type { CreditOutlook } from '../../credits/foresee.ts'
import { dayMs } from '../../shared/time/duration.ts'
import { claimOutlook, keepOutlook, type KeptOutlook } from '../../store/nights/kept-outlook.ts'
import type { Mill } from './mill.ts'
import { readCreditOutlook } from './outlook.ts'

type Seer = Pick<Mill, 'db' | 'config' | 'supplier'>

const lookEveryMs = 60_000
const everyMs = 300_000
/** It takes a twentieth of the time at most. */
const restShare = 20
const shownDays = 30

/** Computes the outlook and keeps it for `analysis.outlook`, unless somebody did so in the last minutes. */
export async function refreshOutlook(mill: Seer, { now = false } = {}): Promise<boolean> {
  const { db, supplier } = mill
  // A test account never stops for credit.
  if (supplier.origin === 'test') return false
  const account = await claimOutlook(db, supplier, {
    everyMs: now ? 0 : everyMs,
    restShare: now ? 0 : restShare,
  })
  if (account === null) return false
  await keepOutlook(db, account, rowsOf(await readCreditOutlook(mill, { days: shownDays })))
  return true
}

/** Keeps it up to date while a worker or scheduler runs. */
export function startOutlook(mill: Seer): { close(): Promise<void> } {
  let looking: Promise<unknown> = Promise.resolve()
  const look = () => {
    // A database that is away is told of elsewhere; the view shows how old its figures are.
    looking = refreshOutlook(mill).catch(() => undefined)
  }
  const timer = setInterval(look, lookEveryMs)
  look()
  return {
    close: async () => {
      clearInterval(timer)
      await looking
    },
  }
}

function rowsOf(outlook: CreditOutlook): KeptOutlook {
  const { forecast, now } = outlook
  const steps = forecast.kind === 'known' ? forecast.steps : []
  const day = steps.filter(({ at }) => at <= now.getTime() + dayMs)
  const met = steps.find(({ cut }) => cut === 'floor')
  return {
    until: outlook.until,
    balance: outlook.balance,
    observed_at: outlook.observedAt,
    floor: outlook.floor,
    missing: forecast.kind === 'unknown' ? forecast.missing : null,
    day_credits:
      forecast.kind === 'unknown' ? null : day.reduce((sum, { credits }) => sum + credits, 0),
    floor_at: met === undefined ? null : new Date(met.floorAt ?? met.at),
    steps: steps.map(({ at, floorAt, ...step }) => ({
      ...step,
      at: new Date(at),
      floor_at: floorAt === null ? null : new Date(floorAt),
    })),
  }
}
