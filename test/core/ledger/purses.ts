import type { GrantedCall } from '../../../src/core/ledger/admission.ts'
import { promise } from './promise.ts'
import { monthOf, type Row, type World } from './world.ts'

/** Checks, from the rows alone, whether a call of this size fits into the budgets. */
export function checkBudgets(world: World, grant: GrantedCall): void {
  const { budgets, listBudget, dailyBudget, monthlyBudget, mostInFlight } = world.plan
  const ofRun = world.rows.filter(({ run }) => run === grant.run)
  checkBudget(world, grant, { budget: budgets[grant.run] ?? null, ended: ofRun, flying: ofRun })
  const today = world.rows.filter(({ day }) => day === world.day)
  checkBudget(world, grant, { budget: dailyBudget, ended: today, flying: world.rows })
  checkBudget(world, grant, { budget: listBudget, ended: world.rows, flying: world.rows })
  const lately = world.rows.filter(({ day }) => monthOf(day) === world.month)
  checkBudget(world, grant, { budget: monthlyBudget, ended: lately, flying: world.rows })
  const flying = world.rows.filter(({ outcome }) => outcome === null).length
  const most = mostInFlight ?? Number.POSITIVE_INFINITY
  promise(flying < most, () => `${flying} calls are in flight, and another one of ${most}`)
}

interface Purse {
  readonly budget: number | null
  readonly ended: readonly Row[]
  readonly flying: readonly Row[]
}

function checkBudget(world: World, grant: GrantedCall, { budget, ended, flying }: Purse): void {
  if (budget === null) return
  let left = budget
  for (const { outcome, used, bound } of ended) left -= outcome === 'unknown' ? bound : used
  const away = flying.filter(({ outcome }) => outcome === null)
  for (const { bound } of away) left -= bound
  // The only call in flight may cost up to the highest known price, or show an unknown price.
  const seen = world.rows.filter((row) => row.priced && row.class === grant.class)
  const least = seen.length === 0 ? 1 : Math.max(1, ...seen.map(({ used }) => used))
  const needed = away.length === 0 ? Math.min(least, grant.bound) : grant.bound
  promise(left >= needed, () => `${left} of the budget ${budget} cannot carry ${grant.bound}`)
}
