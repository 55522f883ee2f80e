// Summarizes lists before they are bought: counts, credits, shares.

import { npmRun } from '../../base/cli/commands.ts'
import { count, formatNumber, typed } from '../../base/cli/text.ts'
import { unhandled } from '../../base/errors.ts'
import type { Query } from '../../base/query.ts'
import type { Funds } from '../ledger/prices.ts'
import { removedPhrase } from './list-diff.ts'
import type { Planned } from './order.ts'
import type { Sample } from './staging.ts'

/** Counts of a list that are added up over all lists. */
const countNames = [
  'rows',
  'accepted',
  'duplicates',
  'rejected',
  'tasks',
  'queued',
  'reused',
  'unreadable',
  'already',
] as const
type Counts = Pick<Planned, (typeof countNames)[number]>

/** Summary of one list, shown before buying. */
export interface ListSummary extends Counts, Pick<Planned, 'removed' | 'dropped' | 'reasons'> {
  readonly list: string
  readonly removedCost: Estimate
  readonly run: number | null
  readonly reading: string
  /** Query column with samples, and the next most likely one; null if there is only one column. */
  readonly column: string | null
  readonly ignored: readonly string[]
  readonly notices: readonly string[]
  readonly sample: Sample
}

/** Summary of all lists of an enqueue, shown before buying. */
export interface PlanSummary {
  readonly lists: readonly ListSummary[]
  readonly origin: 'live' | 'test' | 'sandbox'
  readonly api: string
  /** Parameters shared by all queries, as `name value`. */
  readonly parameters: readonly string[]
  readonly maxAge: string
  readonly estimate: Estimate
  readonly balance: Balance
}

const shownLists = 8
const shownReasons = 5
const shownNames = 8

/** Formats the plan to fit one screen. */
export function planLines(summary: PlanSummary): readonly string[] {
  const { lists, origin, api } = summary
  const shown = lists.slice(0, shownLists).flatMap(listLines)
  const more = lists.length - shownLists
  return [
    ...shown,
    ...(more > 0 ? [`and ${count(more, 'more list')}`] : []),
    `parameters  ${summary.parameters.join(', ')}; ${reuseRule(summary.maxAge)}`,
    `api         ${api}${marketNote(origin)}`,
    `cost        ${costLine(summary)}`,
    ...balanceLines(summary),
    // Names come from files and must not contain terminal control sequences.
  ].map((line) => line.replace(/\p{Cc}/gu, ''))
}

function reuseRule(maxAge: string): string {
  return maxAge === '0' ? 'no answer is reused' : `answers younger than ${maxAge} are reused`
}

function marketNote(origin: PlanSummary['origin']): string {
  switch (origin) {
    case 'live':
      return ''
    case 'test':
      return ' (a test key: answers are mock data, nothing is charged)'
    case 'sandbox':
      return ' (SANDBOX: no real credits are spent)'
    default:
      throw unhandled('origin', origin)
  }
}

function listLines(list: ListSummary): string[] {
  const { rows, accepted, duplicates, rejected, queued, reused, already } = list
  const lines = [
    `list        ${list.list}${list.run === null ? '' : `, run ${list.run}`}: ${list.reading}`,
    `  read      ${count(rows, 'line')}: ${formatNumber(accepted)} accepted, ${formatNumber(duplicates)} merged as duplicates, ${formatNumber(rejected)} rejected`,
    `  queries   ${formatNumber(list.tasks)}: ${formatNumber(queued)} to send, ${formatNumber(reused)} reused from recent answers, ${formatNumber(already)} already in the run`,
  ]
  if (list.column !== null) lines.splice(1, 0, `  column    ${list.column}`)
  if (list.unreadable > 0) {
    lines.push(
      `  note      ${formatNumber(list.unreadable)} of these answers cannot be read: ${npmRun('reparse')} reads them again at no cost, ${npmRun('retry --')} --list ${typed(list.list)} --buy-again --yes buys them again`,
    )
  }
  if (list.removed.queries > 0) lines.push(removedLine(list))
  lines.push(...sampleLines(list.sample, list.tasks))
  for (const notice of list.notices) lines.push(`  note      ${notice}`)
  if (list.ignored.length > 0) lines.push(`  ignored   ${names(list.ignored)}`)
  for (const { reason, lines: lineCount } of list.reasons.slice(0, shownReasons)) {
    lines.push(`  rejected  ${count(lineCount, 'line')}: ${reason}`)
  }
  const more = list.reasons.length - shownReasons
  if (more > 0) lines.push(`  rejected  for ${count(more, 'more reason')}`)
  return lines
}

function removedLine({ removed, removedCost, dropped }: ListSummary): string {
  const { credits } = removedCost
  const cost = credits === null ? 'of unknown cost' : `about ${count(credits, 'credit')}`
  const fate =
    dropped > 0 ? 'they will be cancelled' : 'use --drop to cancel them, or --keep to buy them'
  return `  removed   ${removedPhrase(removed)} no longer in the list, ${cost}; ${fate}`
}

/** Formats the first queries and the last one as they will be sent; counts alone would hide a wrong column. */
function sampleLines({ first, last }: Sample, tasks: number): string[] {
  const lines = first.map(
    (query, index) => `  ${index === 0 ? 'first' : '     '}     ${queryLine(query)}`,
  )
  if (last !== null && tasks > first.length) lines.push(`  last      ${queryLine(last)}`)
  return lines
}

function queryLine({ q, location, hl, gl, num, device }: Query): string {
  const given = { location, hl, gl, num, device }
  const named = Object.entries(given).flatMap(([name, value]) =>
    value === null ? [] : [`${name} ${value}`],
  )
  return `${q.length > 80 ? `${q.slice(0, 80)}…` : q}  (${named.join(', ')})`
}

function names(ignored: readonly string[]): string {
  const shown = ignored
    .slice(0, shownNames)
    .map((name) => JSON.stringify(name.trim().slice(0, 40)))
    .join(', ')
  const more = ignored.length - shownNames
  return `columns ${shown}${more > 0 ? ` and ${more} more` : ''}`
}

function costLine({ estimate, lists }: PlanSummary): string {
  const { credits, worst, basis } = estimate
  switch (basis) {
    case 'nothing to buy':
      // Queries that a run still has to buy are not counted again: they were counted when that run was planned.
      return lists.some(({ already }) => already > 0)
        ? 'nothing more: no query is added'
        : 'nothing: no query is to be sent'
    case 'unknown':
      return 'unknown: no answer of this price class has been paid for yet'
    case 'seen':
      return `about ${count(credits ?? 0, 'credit')}, at most ${formatNumber(worst ?? 0)} (by the prices paid so far)`
    default:
      throw unhandled('basis', basis)
  }
}

function balanceLines({ balance, estimate, origin }: PlanSummary): string[] {
  if (origin === 'test') return []
  const { remaining, after, after_worst: worst, floor } = balance
  const lines = [
    remaining === null
      ? `balance     unknown until the first answer; credit floor: ${formatNumber(floor)}`
      : `balance     ${formatNumber(remaining)} now${openNote(balance)}, ${numberOrUnknown(after)} after (at least ${numberOrUnknown(worst)}); credit floor: ${formatNumber(floor)}`,
  ]
  if (balance.above_floor === false && estimate.basis !== 'nothing to buy') {
    lines.push(
      '            not enough above the credit floor: work stops there and continues after a top-up',
    )
  }
  if (balance.budget !== null) {
    lines.push(
      `budget      ${count(balance.budget, 'credit')}: ${budgetNote(balance.within_budget)}`,
    )
  }
  return lines
}

function numberOrUnknown(number: number | null): string {
  return number === null ? 'unknown' : formatNumber(number)
}

/** Describes the credits that open runs will use from the same balance. */
function openNote({ open }: Balance): string {
  if (open === null) return ', an unknown part of it for open runs'
  return open === 0 ? '' : `, about ${formatNumber(open)} of it for open runs`
}

function budgetNote(within: boolean | null): string {
  if (within === null) return 'whether it is enough is unknown'
  return within ? 'enough' : 'not enough in the worst case: the rest ends as unaffordable'
}

/** Totals of the lists of an enqueue. */
export interface Totals extends Counts {
  readonly estimate: Estimate
  readonly balance: Balance
}

type PlannedList = Planned & { readonly estimate: Estimate }

/** Adds up the lists and computes the remaining credits. `open` is the cost of tasks that are already open. */
export function addUp(
  lists: readonly PlannedList[],
  {
    open,
    funds,
    floor,
    budget,
  }: { open: Estimate; funds: Funds; floor: number; budget: number | null },
): Totals {
  const counts = countNames.map((name) => [name, sumOf(lists, (list) => list[name])])
  const estimate = addEstimates(lists.map((list) => list.estimate))
  return {
    ...(Object.fromEntries(counts) as Counts),
    estimate,
    balance: forecastBalance(estimate, {
      remaining: funds.remaining,
      floor: Math.max(floor, funds.floor ?? 0),
      budget,
      open,
      before: spentBefore(lists, funds),
    }),
  }
}

/**
 * Adds up the credits that the runs have used of their budgets and the possible cost of their open tasks; null if a
 * price is unknown.
 */
function spentBefore(lists: readonly PlannedList[], { costs }: Funds): number | null {
  const open = sumOf(lists, ({ before }) => before.open)
  const spent = sumOf(lists, ({ before }) => before.spent)
  if (open === 0) return spent
  if (costs.length === 0) return null
  return spent + open * Math.max(...costs.map(({ dearest }) => dearest))
}

function sumOf<T>(all: readonly T[], read: (one: T) => number): number {
  return all.reduce((total, one) => total + read(one), 0)
}

/** Cost of a purchase; null means unknown, not zero. */
export interface Estimate {
  readonly credits: number | null
  readonly worst: number | null
  readonly basis: 'seen' | 'unknown' | 'nothing to buy'
}

/**
 * Estimates a cost from earlier calls of the same class: the expected cost from recent calls, and the worst case from
 * the most expensive call.
 */
export function estimateCost(
  toBuy: Planned['toBuy'],
  prices: Funds['costs'],
  classOf: (purchase: Planned['toBuy'][number]) => string,
): Estimate {
  const wanted = toBuy.filter(({ tasks }) => tasks > 0)
  if (wanted.length === 0) return { credits: 0, worst: 0, basis: 'nothing to buy' }
  const known = new Map(prices.map((price) => [price.class, price]))
  let credits = 0
  let worst = 0
  for (const purchase of wanted) {
    const price = known.get(classOf(purchase))
    if (price === undefined) return { credits: null, worst: null, basis: 'unknown' }
    credits += purchase.tasks * (price.average ?? price.dearest)
    worst += purchase.tasks * price.dearest
  }
  return { credits: Math.ceil(credits), worst: Math.max(worst, Math.ceil(credits)), basis: 'seen' }
}

/** Sum of estimates; unknown if any of them is unknown. */
export function addEstimates(estimates: readonly Estimate[]): Estimate {
  const bought = estimates.filter(({ basis }) => basis !== 'nothing to buy')
  if (bought.length === 0) return { credits: 0, worst: 0, basis: 'nothing to buy' }
  if (bought.some(({ basis }) => basis === 'unknown')) {
    return { credits: null, worst: null, basis: 'unknown' }
  }
  return {
    credits: sumOf(bought, ({ credits }) => credits ?? 0),
    worst: sumOf(bought, ({ worst }) => worst ?? 0),
    basis: 'seen',
  }
}

/** Balance after a purchase; null means unknown. */
export interface Balance {
  readonly remaining: number | null
  /** Cost of tasks that are already open; null if unknown. */
  readonly open: number | null
  readonly after: number | null
  readonly after_worst: number | null
  readonly floor: number
  /** True if even the worst case stays above the floor; null if cost or balance is unknown. */
  readonly above_floor: boolean | null
  readonly budget: number | null
  /** True if even the worst case stays within the budget; null if the cost is unknown or there is no budget. */
  readonly within_budget: boolean | null
}

/**
 * Compares an estimate with balance, floor and budget. Open tasks are paid from the same balance. `before` is the
 * number of credits that the run had used, or may still use, of its budget before this purchase; null means unknown.
 */
export function forecastBalance(
  { credits, worst }: Estimate,
  {
    remaining,
    floor,
    budget,
    open = nothing,
    before = 0,
  }: Pick<Balance, 'remaining' | 'floor' | 'budget'> & {
    open?: Estimate
    before?: number | null
  },
): Balance {
  const after = minus(remaining, open.credits, credits)
  const afterWorst = minus(remaining, open.worst, worst)
  return {
    remaining,
    open: open.credits,
    after,
    after_worst: afterWorst,
    floor,
    above_floor: afterWorst === null ? null : afterWorst >= floor,
    budget,
    within_budget:
      worst === null || budget === null || before === null ? null : worst + before <= budget,
  }
}

const nothing: Estimate = { credits: 0, worst: 0, basis: 'nothing to buy' }

function minus(first: number | null, second: number | null, third: number | null): number | null {
  return first === null || second === null || third === null ? null : first - second - third
}

/** A purchase of this many calls or more needs confirmation. The limit is lower if the cost of a call is unknown. */
const confirmFrom = { calls: 1000, callsOfUnknownCost: 500 } as const

/** True for a purchase large enough to need confirmation. */
export function needsYes(queued: number, { basis }: Estimate): boolean {
  return queued > (basis === 'unknown' ? confirmFrom.callsOfUnknownCost : confirmFrom.calls)
}
