import { count, typed } from '../../shared/terminal/wording.ts'
import type { Balance, Estimate } from './estimate.ts'
import type { Query } from '../../shared/query.ts'
import type { Sample } from './staging.ts'
import { unhandled } from '../../shared/errors.ts'

/** What one list comes to, as far as a person needs to see it before buying. */
export interface ListSummary {
  readonly list: string
  readonly rows: number
  readonly accepted: number
  readonly duplicates: number
  readonly rejected: number
  readonly tasks: number
  readonly queued: number
  readonly reused: number
  /** Of these, answers that are paid for and kept, and cannot be read. */
  readonly unreadable: number
  readonly already: number
  readonly run: number | null
  readonly reasons: readonly { readonly reason: string; readonly lines: number }[]
  /** How the file was read, in a phrase. */
  readonly reading: string
  readonly ignored: readonly string[]
  readonly notices: readonly string[]
  readonly sample: Sample
}

/** What a whole enqueue comes to, as a person sees it before buying. */
export interface PlanSummary {
  readonly lists: readonly ListSummary[]
  readonly origin: 'live' | 'test' | 'sandbox'
  readonly api: string
  /** Parameters that hold for all queries, as `name value`. */
  readonly parameters: readonly string[]
  readonly maxAge: string
  readonly estimate: Estimate
  readonly balance: Balance
}

const shownLists = 8
const shownReasons = 5
const shownNames = 8

/** The plan on one screen. */
export function planLines(summary: PlanSummary): readonly string[] {
  const { lists, origin, api } = summary
  const shown = lists.slice(0, shownLists).flatMap(listLines)
  const more = lists.length - shownLists
  return [
    ...shown,
    ...(more > 0 ? [`and ${more} more lists`] : []),
    `parameters  ${summary.parameters.join(', ')}; answers younger than ${summary.maxAge} are reused`,
    `api         ${api}${marketNote(origin)}`,
    `cost        ${costLine(summary)}`,
    ...balanceLines(summary),
    // Names come out of files: none of them may steer the reader's terminal.
  ].map((line) => line.replace(/\p{Cc}/gu, ''))
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
    `  read      ${count(rows, 'line')}: ${accepted} accepted, ${duplicates} merged as duplicates, ${rejected} rejected`,
    `  queries   ${list.tasks}: ${queued} to send, ${reused} answered by younger answers, ${already} in the run already`,
  ]
  if (list.unreadable > 0) {
    lines.push(
      `  note      ${list.unreadable} of these answers cannot be read: npm run reparse reads them again for nothing, npm run retry -- --list ${typed(list.list)} --buy-again buys them again`,
    )
  }
  lines.push(...sampleLines(list.sample, list.tasks))
  for (const notice of list.notices) lines.push(`  note      ${notice}`)
  if (list.ignored.length > 0) lines.push(`  ignored   ${names(list.ignored)}`)
  for (const { reason, lines: lineCount } of list.reasons.slice(0, shownReasons)) {
    lines.push(`  rejected  ${count(lineCount, 'line')}: ${reason}`)
  }
  const more = list.reasons.length - shownReasons
  if (more > 0) lines.push(`  rejected  for ${more} more reasons`)
  return lines
}

/** The first queries and the last one as they will be sent: counts alone hide a wrong column. */
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
      // What a run still has to buy was counted when it was planned.
      return lists.some(({ already }) => already > 0)
        ? 'nothing more: no query is added'
        : 'nothing: no query is to be sent'
    case 'unknown':
      return 'unknown: no answer of this kind has been paid for yet'
    case 'seen':
      return `about ${count(credits ?? 0, 'credit')}, ${worst} at the worst (by costs seen so far)`
    default:
      throw unhandled('basis', basis)
  }
}

function balanceLines({ balance, estimate, origin }: PlanSummary): string[] {
  if (origin === 'test') return []
  const { remaining, after, after_worst: worst, floor } = balance
  const lines = [
    remaining === null
      ? `balance     unknown until the first answer; ${floor} credits stay untouched`
      : `balance     ${remaining} now${openNote(balance)}, ${after ?? 'unknown'} after (${worst ?? 'unknown'} at the worst); the floor is ${floor}`,
  ]
  if (balance.above_floor === false && estimate.basis !== 'nothing to buy') {
    lines.push(
      '            not enough above the floor: work will stop there, and go on after a top-up',
    )
  }
  if (balance.budget !== null) {
    lines.push(`budget      ${balance.budget} credits: ${budgetNote(balance.within_budget)}`)
  }
  return lines
}

/** What other runs take from the same balance. */
function openNote({ open }: Balance): string {
  if (open === null) return ', an unknown part of it for what is open already'
  return open === 0 ? '' : `, about ${open} of them for what is open already`
}

function budgetNote(within: boolean | null): string {
  if (within === null) return 'whether it is enough is unknown'
  return within
    ? 'enough'
    : 'not enough in the worst case: what it does not cover ends as unaffordable'
}
