import { constants, lowestBalance, type Account } from './account.ts'
import type { Ask, RunPurse, Rest, Rules } from './admission.ts'
import { dearestOfAll, type Bound, type Costs } from './prices.ts'

/** Why one ask could not be granted. */
export type Obstacle =
  | 'class'
  | 'urgent'
  | 'purse'
  | 'run_spent'
  | 'list_spent'
  | 'day'
  | 'month'
  | 'crowd'
  | 'floor'

/** All that limits depend on, as it stands between two asks. */
export interface Standing {
  readonly account: Account
  readonly costs: Costs
  readonly purses: ReadonlyMap<number, RunPurse>
  readonly rules: Rules
}

/** Reasons that shut the gate whatever is asked; null while it is open. */
export function closedBy({ blockedKeys, notBefore }: Account, { key, now }: Rules): Rest | null {
  if (blockedKeys.includes(key)) {
    const detail = 'the API refused the key; set another SEARCH_API_KEY, or type: npm run resume'
    return { kind: 'stop', reason: 'auth', until: null, detail }
  }
  if (notBefore !== null && now < notBefore) {
    const detail = 'the API asked to slow down'
    return { kind: 'stop', reason: 'rate', until: notBefore, detail }
  }
  return null
}

/** What forbids a call of this size: the budgets of its run, its list, the day and the month, the floor, or more urgent tasks. */
export function obstacleTo(
  { account, costs, purses, rules }: Standing,
  ask: Ask,
  { bound, size }: { bound: Bound; size: number },
): Obstacle | null {
  const purse = purses.get(ask.run)
  const short = (one: Drawn) => !carries(one, bound, size)
  if (purse !== undefined && short(purse)) return purse.reserved === 0 ? 'run_spent' : 'purse'
  const list = purse?.list ?? null
  if (list !== null && short(list)) return list.reserved === 0 ? 'list_spent' : 'purse'
  const { reserved, daySpent, monthSpent } = account
  if (short({ budget: rules.monthlyBudget, spent: monthSpent, reserved })) return 'month'
  if (short({ budget: rules.dailyBudget, spent: daySpent, reserved })) return 'day'
  const room = roomAbove(account, costs, rules)
  if (room === null || room < size) return 'floor'
  return room < size * (1 + ask.urgentElsewhere) ? 'urgent' : null
}

/** A budget, and what was drawn on it. */
interface Drawn {
  readonly budget: number | null
  readonly spent: number
  readonly reserved: number
}

function carries({ budget, spent, reserved }: Drawn, bound: Bound, size: number): boolean {
  if (budget === null) return true
  const left = budget - spent - reserved
  return left >= need(bound, size, { left, idle: reserved === 0 })
}

/** Of a budget, the first call needs the smaller bound; where only a call can tell the price, what is left. */
function need(bound: Bound, size: number, { left, idle }: { left: number; idle: boolean }): number {
  if (!idle) return size
  return bound.unseen && left > 0 ? Math.min(bound.alone, left) : bound.alone
}

/** Credits that are provably free above the floor; null while a new balance must be seen first. */
export function roomAbove(account: Account, costs: Costs, { floor, now }: Rules): number | null {
  const low = lowestBalance(account)
  if (low === null || isStale(account, now)) return null
  const { drainedFloor } = account
  const drained = drainedFloor !== null && floor >= drainedFloor
  const kept = drained ? constants.hysteresis * (dearestOfAll(costs)?.alone ?? 0) : 0
  return low - floor - constants.margin - kept
}

/** True when much may have been spent since the balance was seen: by others, or in a time that the books forgot. */
function isStale({ seen }: Account, now: number): boolean {
  return seen !== null && (seen.doubted === true || now - seen.at > constants.oldestSightingMs)
}

/** Why a call may go out alone to see the balance although no room is proved: it is unknown, old, or renewed. */
export function isProbeDue(account: Account, bound: number, rules: Rules): boolean {
  const { seen, blindCalls } = account
  if (seen === null && blindCalls < constants.blindCalls) return true
  const low = lowestBalance(account)
  const fits = low !== null && low - bound >= rules.floor + constants.margin
  if (fits && isStale(account, rules.now)) return true
  return hasRenewed(account, rules)
}

/** True when the plan renewed after the balance was last seen: a few tries, then one for each renewal. */
function hasRenewed({ seen, lastProbeAt, blindCalls }: Account, rules: Rules): boolean {
  const tried = blindCalls < constants.blindCalls ? 0 : (lastProbeAt ?? 0)
  const renewal = rules.renewalAfter(Math.max(seen?.at ?? 0, tried))
  return renewal !== null && renewal <= rules.now
}

/** Milliseconds until the next probe: longer each time, so that an API that stumbles gets time to stand up. */
export function probePause({ lastProbeAt, blindCalls }: Account, now: number): number {
  if (lastProbeAt === null) return 0
  const pause = constants.probePauseMs * 2 ** Math.max(0, blindCalls - 1)
  return Math.max(0, lastProbeAt + pause - now)
}

/** The stop at the floor, in words for a person. */
export function floorStop(account: Account, { floor, now, renewalAfter }: Rules): Rest {
  const { seen, lastProbeAt, uncertain } = account
  const held = uncertain > 0 ? `, ${uncertain} of them held for calls nobody could read` : ''
  return {
    kind: 'stop',
    reason: 'credit_floor',
    until: renewalAfter(Math.max(now, lastProbeAt ?? 0)),
    detail:
      seen === null
        ? 'no balance could be read yet; type: npm run resume'
        : `${seen.remaining} credits were left, the floor is ${floor}: another call might cross it${held}`,
  }
}
