import { foresee, type CreditOutlook } from '../../credits/foresee.ts'
import type { ForecastStep, OpenWork } from '../../credits/prospect.ts'
import { unhandled } from '../../shared/errors.ts'
import { formatTable } from '../../shared/terminal/table.ts'
import { count } from '../../shared/terminal/wording.ts'
import { dayMs } from '../../shared/time/duration.ts'
import { formatMinute } from '../../shared/time/zone.ts'
import type { Mill } from './mill.ts'

/** The outlook of the mill's account, with work that is only thought of. */
export function readCreditOutlook(
  { db, config, supplier }: Pick<Mill, 'db' | 'config' | 'supplier'>,
  { days, extra = [] }: { readonly days: number; readonly extra?: readonly OpenWork[] },
): Promise<CreditOutlook> {
  const { creditFloor: floor, maxAgeMs, dailyBudget, monthlyBudget, renewal, zone } = config
  const rules = { floor, maxAgeMs, dailyBudget, monthlyBudget, renewal, zone }
  return foresee(db, { buyer: supplier, ...rules, days, extra })
}

/** What is open and what is to come, a line each, and where money ends. */
export function outlookLines(outlook: CreditOutlook, zone: string): readonly string[] {
  const { forecast } = outlook
  const steps = forecast.kind === 'known' ? forecast.steps : []
  return [
    balanceLine(outlook, zone),
    ...(steps.length === 0 ? [] : [stepTable(steps, zone)]),
    ...outlookSentences(outlook, zone),
  ]
}

function balanceLine({ balance, observedAt, floor }: CreditOutlook, zone: string): string {
  if (balance === null) return `balance not told yet; the floor is ${floor}`
  const seen = observedAt === null ? '' : `, told ${formatMinute(zone, observedAt)}`
  return `${balance} credits when calls on their way are paid${seen}; the floor is ${floor}`
}

const heads = ['when', 'what', 'list', 'to buy', 'fresh', 'credits', 'at worst', 'left', 'verdict']

function stepTable(steps: readonly ForecastStep[], zone: string): string {
  const rows = steps.map((step) => {
    const { kind, name, list, asked, fresh, credits, worst, after } = step
    const when = formatMinute(zone, new Date(step.at))
    if (kind === 'renewal') return [when, 'renewal', '', '', '', '', '', after, '']
    const what = kind === 'run' ? `run ${name}` : name
    return [when, what, list, asked, fresh, credits, worst, after, verdictOf(step)]
  })
  return formatTable(heads, rows, { right: ['to buy', 'fresh', 'credits', 'at worst', 'left'] })
}

function verdictOf({ cut, sure, bought, asked }: ForecastStep): string {
  switch (cut) {
    case null:
      return sure ? 'fits' : 'fits at what was paid lately, not at the dearest'
    case 'budget':
      return `its budget ends at ${bought} of ${asked}`
    case 'list':
      return `its list's budget of the month ends at ${bought} of ${asked}`
    case 'month':
      return `the month's budget ends at ${bought} of ${asked}`
    case 'day':
      return `the day's budget ends at ${bought} of ${asked}`
    case 'floor':
      return `the floor stops it at ${bought} of ${asked}`
    default:
      throw unhandled('cut', cut)
  }
}

/** The outlook in a few words: what the coming day costs, and whether and when the floor is met. */
export function outlookSentences(
  { forecast, now, until, schedules, renewal }: CreditOutlook,
  zone: string,
): readonly string[] {
  if (forecast.kind === 'unknown') {
    const what = forecast.missing === 'balance' ? 'the balance' : 'what each kind of query costs'
    return [`nobody knows ${what} yet: the first answers tell it`]
  }
  const { steps } = forecast
  if (steps.length === 0)
    return [schedules === 0 ? 'nothing is open, and no schedule is on' : 'nothing is open']
  const lines = [
    dayLine(steps, now),
    floorLine(steps, { until, zone }),
    ...budgetLines(steps, zone),
  ]
  if (renewal !== null && renewal.balance === null) {
    lines.push(
      `a renewal is due ${formatMinute(zone, renewal.at)}: how much it brings is known after the first one`,
    )
  }
  return lines
}

function dayLine(steps: readonly ForecastStep[], now: Date): string {
  const near = steps.filter(({ at }) => at <= now.getTime() + dayMs)
  const sum = near.reduce((total, { credits }) => total + credits, 0)
  const worst = near.reduce((total, step) => total + step.worst, 0)
  const open = near
    .filter(({ kind }) => kind === 'run')
    .reduce((total, step) => total + step.credits, 0)
  return `the coming 24 hours: about ${count(sum, 'credit')}, ${open} of them for what is open; ${worst} at the worst`
}

function floorLine(
  steps: readonly ForecastStep[],
  { until, zone }: { readonly until: Date; readonly zone: string },
): string {
  const met = firstStop(steps)
  if (met !== null) {
    const { step, at } = met
    return `the floor is met ${formatMinute(zone, at)} or about then: ${step.list} stops at ${step.bought} of ${step.asked}`
  }
  const unsure = steps.find(({ cut, sure }) => cut === null && !sure)
  const day = formatMinute(zone, until).slice(0, 10)
  return unsure === undefined
    ? `the floor is not met until ${day}, also at the dearest price paid lately`
    : `the floor is not met until ${day} at what was paid lately; at the dearest, ${unsure.list} of ${formatMinute(zone, new Date(unsure.at))} does not fit`
}

/** What budgets keep back, though there is credit. */
function budgetLines(steps: readonly ForecastStep[], zone: string): string[] {
  const short = steps.filter(({ cut }) => cut !== null && cut !== 'floor')
  const [first] = short
  if (first === undefined) return []
  const left = short.reduce((sum, { asked, bought }) => sum + asked - bought, 0)
  const when = formatMinute(zone, new Date(first.at))
  return [
    `budgets leave out ${left} queries, the first time ${when}: ${first.list} ends at ${first.bought} of ${first.asked}`,
  ]
}

/** The first step that the floor stops, and when. */
function firstStop(
  steps: readonly ForecastStep[],
): { readonly step: ForecastStep; readonly at: Date } | null {
  const step = steps.find(({ cut }) => cut === 'floor')
  return step === undefined ? null : { step, at: new Date(step.floorAt ?? step.at) }
}

/** The outlook for programs. */
export function outlookJson({ forecast, now, until, ...outlook }: CreditOutlook) {
  const steps = forecast.kind === 'known' ? forecast.steps : []
  const met = firstStop(steps)
  return {
    now,
    until,
    balance: outlook.balance,
    observed_at: outlook.observedAt,
    floor: outlook.floor,
    calls_per_minute: outlook.perMinute,
    schedules: outlook.schedules,
    renewal: outlook.renewal,
    missing: forecast.kind === 'unknown' ? forecast.missing : null,
    floor_at: met?.at ?? null,
    steps: steps.map(({ at, floorAt, ...step }) => ({
      ...step,
      at: new Date(at),
      floor_at: floorAt === null ? null : new Date(floorAt),
    })),
  }
}
