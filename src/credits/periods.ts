import type { Account } from './account.ts'
import type { Rest, Rules } from './admission.ts'
import type { Obstacle } from './limits.ts'

/** The account in the day and the month of the rules. */
export function inPeriod(account: Account, { day, month }: Rules): Account {
  // Never back: workers whose zones differ would otherwise begin the same day again and again.
  const newDay = account.day === null || day > account.day
  const newMonth = account.month === null || month > account.month
  return {
    ...account,
    ...(newDay ? { day, daySpent: 0 } : {}),
    ...(newMonth ? { month, monthSpent: 0 } : {}),
  }
}

/** The stop at the budget of the month or of the day; null where neither keeps anything back. */
export function budgetStop(
  { daySpent, monthSpent }: Account,
  { dailyBudget, dayEnds, monthlyBudget, monthEnds }: Rules,
  obstacles: ReadonlySet<Obstacle>,
): Rest | null {
  if (obstacles.has('month')) {
    const detail = `the budget of the month is used: ${monthSpent} of ${monthlyBudget} credits; raise MILL_MONTHLY_BUDGET, or wait for the next month`
    return { kind: 'stop', reason: 'budget', until: monthEnds, detail }
  }
  if (!obstacles.has('day')) return null
  const detail = `the budget of the day is used: ${daySpent} of ${dailyBudget} credits; raise MILL_DAILY_BUDGET, or wait for the next day`
  return { kind: 'stop', reason: 'budget', until: dayEnds, detail }
}
