// Describes plans as text and as JSON.

import { npmRun } from '../../base/cli/commands.ts'
import { count, formatNumber, typed } from '../../base/cli/text.ts'
import type { Query } from '../../base/query.ts'
import type { Heading } from '../lists/read.ts'
import type { Supplier } from '../mill.ts'
import type { Intake } from './flags.ts'
import { removedPhrase } from './list-diff.ts'
import type { ListPlan, Plans } from './planning.ts'
import { countNames, type Totals } from './summary.ts'

/** JSON output of the enqueue command. */
export type EnqueueReport = ReturnType<typeof reportOf>

const inReport = [
  ...(['list', 'joined', ...countNames, 'dropped'] as const),
  ...(['estimate', 'reasons', 'notices', 'sample'] as const),
]

/** For each list, `files` contains the path to its rejected lines. */
export function reportOf(
  plans: Plans,
  { parameters }: Pick<Intake, 'parameters'>,
  files: readonly (string | null)[],
) {
  const [first] = plans.lists
  if (first === undefined) throw new Error('expected a list, got none')
  return {
    run: runOf(plans, first),
    list: first.list,
    ...plans.totals,
    dry_run: !plans.committed,
    /** True if any of the runs still has tasks to buy. */
    open: plans.lists.some(({ done }) => !done),
    /** Parameters shared by all queries, as `name value`. */
    parameters,
    runs: plans.lists.map((plan, index) => ({
      run: runOf(plans, plan),
      ...Object.fromEntries(inReport.map((name) => [name, plan[name]])),
      removed: plan.removed.queries,
      removed_credits: plan.removedCost.credits,
      reading: plan.heading === null ? null : readingReport(plan.heading),
      rejected_file: files[index] ?? null,
    })),
  }
}

/** Returns null if the run was rolled back with the preview. */
function runOf({ committed }: Plans, { joined, run }: ListPlan): number | null {
  return committed || joined ? run : null
}

const shownLists = 8
const shownReasons = 5
const shownNames = 8

/** Formats the plan so that it fits on one screen. */
export function planLines(
  plans: Plans,
  { origin, api }: Pick<Supplier, 'origin' | 'api'>,
  { parameters, maxAge }: Pick<Intake, 'parameters' | 'maxAge'>,
): readonly string[] {
  const more = plans.lists.length - shownLists
  const reuse =
    maxAge === '0' ? 'no answers are reused' : `answers younger than ${maxAge} are reused`
  return [
    ...plans.lists.slice(0, shownLists).flatMap((plan) => listLines(plan, runOf(plans, plan))),
    ...(more > 0 ? [`and ${count(more, 'more list')}`] : []),
    `parameters  ${parameters.join(', ')}; ${reuse}`,
    `api         ${api}${originNotes[origin]}`,
    `cost        ${costLine(plans)}`,
    ...(origin === 'test' ? [] : balanceLines(plans.totals)),
    // Names come from files and could contain terminal control sequences.
  ].map((line) => line.replace(/\p{Cc}/gu, ''))
}

const originNotes: Readonly<Record<Supplier['origin'], string>> = {
  live: '',
  test: ' (a test key: answers are mock data, nothing is charged)',
  sandbox: ' (SANDBOX: no real credits are spent)',
}

function listLines(plan: ListPlan, run: number | null): string[] {
  const { list, heading, headersAgain, tasks, unreadable, reasons } = plan
  const [rows, accepted, merged] = [plan.rows, plan.accepted, plan.duplicates]
  const { ignored } = heading === null ? { ignored: [] } : readingReport(heading)
  const more = reasons.length - shownReasons
  return [
    `list        ${list}${run === null ? '' : `, run ${run}`}: ${readingPhrase(heading, headersAgain)}`,
    ...columnLines(heading),
    `  read      ${count(rows, 'line')}: ${formatNumber(accepted)} accepted, ${formatNumber(merged)} merged as duplicates, ${formatNumber(plan.rejected)} rejected`,
    `  queries   ${formatNumber(tasks)}: ${formatNumber(plan.queued)} to send, ${formatNumber(plan.reused)} reused from recent answers, ${formatNumber(plan.already)} already in the run`,
    ...(unreadable === 0
      ? []
      : [
          `  note      ${formatNumber(unreadable)} of these answers cannot be read; ${npmRun('reparse')} reads them again at no cost, and ${npmRun('retry --')} --list ${typed(list)} --buy-again --yes buys them again`,
        ]),
    ...removedLines(plan),
    ...sampleLines(plan),
    ...plan.notices.map((notice) => `  note      ${notice}`),
    ...(ignored.length === 0 ? [] : [`  ignored   columns ${namesOf(ignored)}`]),
    ...reasons
      .slice(0, shownReasons)
      .map(({ reason, lines }) => `  rejected  ${count(lines, 'line')}: ${reason}`),
    ...(more > 0 ? [`  rejected  more lines, for ${count(more, 'other reason')}`] : []),
  ]
}

function removedLines({ removed, removedCost: { credits }, dropped }: ListPlan): string[] {
  if (removed.queries === 0) return []
  const cost = credits === null ? 'cost unknown' : `about ${count(credits, 'credit')}`
  const fate =
    dropped > 0 ? 'they will be cancelled' : 'use --drop to cancel them, or --keep to buy them'
  return [`  removed   ${removedPhrase(removed)} no longer in the list, ${cost}; ${fate}`]
}

/** Shows queries as they will be sent, because counts alone would not reveal a wrong column. */
function sampleLines({ sample: { first, last }, tasks }: ListPlan): string[] {
  const shown = first.map(
    (query, index) => `  ${index === 0 ? 'first' : '     '}     ${queryLine(query)}`,
  )
  return last === null || tasks <= first.length
    ? shown
    : [...shown, `  last      ${queryLine(last)}`]
}

function queryLine({ q, ...given }: Query): string {
  const named = Object.entries(given).filter(([, value]) => value !== null)
  const text = q.length > 80 ? `${q.slice(0, 80)}…` : q
  return `${text}  (${named.map((each) => each.join(' ')).join(', ')})`
}

function namesOf(ignored: readonly string[]): string {
  const shown = ignored.slice(0, shownNames).map((name) => JSON.stringify(name.trim().slice(0, 40)))
  const more = ignored.length - shownNames
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function costLine({ totals: { estimate, already } }: Plans): string {
  const { credits, worst, basis } = estimate
  if (basis === 'unknown') return 'unknown: no answer in this price class has been paid for yet'
  if (basis === 'seen')
    return `about ${count(credits ?? 0, 'credit')}, at most ${formatNumber(worst ?? 0)} (at the prices paid so far)`
  // Queries that are already in a run are not counted again, because they were counted when that run was planned.
  return already > 0
    ? 'no additional credits, because no queries are added'
    : 'nothing, because no queries need to be sent'
}

function balanceLines({ balance, estimate }: Totals): string[] {
  const { remaining, open, after, after_worst: worst, floor, budget, within_budget } = balance
  const number = (value: number | null): string =>
    value === null ? 'unknown' : formatNumber(value)
  const ofOpen =
    open === 0
      ? ''
      : `, including ${open === null ? 'an unknown amount' : `about ${formatNumber(open)}`} for open runs`
  const now =
    remaining === null
      ? 'unknown until the first answer'
      : `${formatNumber(remaining)} now${ofOpen}, ${number(after)} afterwards (at least ${number(worst)})`
  const lines = [`balance     ${now}; credit floor: ${formatNumber(floor)}`]
  if (balance.above_floor === false && estimate.basis !== 'nothing to buy') {
    lines.push(
      '            not enough above the credit floor; work stops at the floor and continues after a top-up',
    )
  }
  if (budget !== null) {
    const short =
      within_budget === null
        ? 'not known to be enough'
        : 'not enough in the worst case; the remaining queries would end as unaffordable'
    lines.push(
      `budget      ${count(budget, 'credit')}: ${within_budget === true ? 'enough' : short}`,
    )
  }
  return lines
}

function readingReport(heading: Heading) {
  const { encoding, dialect, verdict, runnerUp } = heading
  const { delimiter, headerLine, header, columns } = dialect
  const described = (index: number) => ({
    column: index + 1,
    // Null if the file has no header.
    name: header[index]?.trim() ?? null,
    samples: samplesOf(heading, index),
  })
  return {
    file: heading.file,
    sheet: heading.sheet,
    encoding: encoding.label,
    encoding_by: encoding.how,
    delimiter,
    // JSON lines have field names instead of a header.
    header_line: headerLine === 0 ? null : headerLine,
    columns: [{ index: columns.query, role: 'query' }, ...usedColumns(heading)]
      .toSorted((a, b) => a.index - b.index)
      .map(({ index, role }) => ({ ...described(index), means: role })),
    // The second most likely query column.
    runner_up: runnerUp === null ? null : described(runnerUp),
    ignored: [
      ...columns.ignored.map((cell) => cell.trim()),
      ...[...verdict.ignored.keys()].map((index) => header[index]?.trim() ?? String(index + 1)),
    ],
  }
}

function usedColumns({ dialect, verdict }: Heading) {
  return dialect.columns.others.filter(({ index }) => !verdict.ignored.has(index))
}

function samplesOf({ rows }: Heading, index: number): string[] {
  return rows.map((cells) => (cells[index] ?? '').trim().slice(0, 60))
}

/** Shows samples from the query column and the next most likely column, so that a wrong choice is obvious. */
function columnLines(heading: Heading | null): string[] {
  if (heading === null || heading.dialect.columns.width === 1) return []
  const { dialect, runnerUp } = heading
  const described = (index: number): string => {
    const name = dialect.header[index]?.trim() ?? ''
    const samples = samplesOf(heading, index).map((text) => JSON.stringify(text))
    return `${index + 1}${name === '' ? '' : ` ${JSON.stringify(name)}`}: ${samples.join(', ')}`
  }
  const other = runnerUp === null ? '' : `; not ${described(runnerUp)}`
  return [`  column    ${described(dialect.columns.query)}${other}`]
}

const delimiterWords: Readonly<Record<string, string>> = {
  ',': 'commas',
  ';': 'semicolons',
  '\t': 'tabs',
  '|': 'bars',
}

function readingPhrase(heading: Heading | null, headersAgain: readonly number[]): string {
  if (heading === null) return 'as last read'
  const { delimiter, headerLine, header, columns } = heading.dialect
  const isJson = headerLine === 0
  const plain =
    delimiter === null
      ? 'one query per line'
      : `separated by ${delimiterWords[delimiter] ?? JSON.stringify(delimiter)}`
  const query = header[columns.query]?.trim()
  const from =
    headerLine === null || query === undefined
      ? `no header${columns.width > 1 ? `, queries from column ${columns.query + 1}` : ''}`
      : `queries from ${JSON.stringify(query)}${isJson ? '' : ` (header on line ${headerLine})`}`
  const also = usedColumns(heading).map(({ role, index }) =>
    withName(role === 'target' ? 'target url' : role, header[index]),
  )
  return [
    ...(heading.sheet === null ? [] : [`table ${JSON.stringify(heading.sheet)}`]),
    heading.encoding.label,
    isJson ? 'JSON lines' : plain,
    from,
    ...(also.length === 0 ? [] : [`with ${also.join(', ')}`]),
    ...(headersAgain.length === 0 ? [] : [`repeated headers on line ${headersAgain.join(', ')}`]),
  ].join(', ')
}

function withName(meaning: string, name = ''): string {
  const trimmed = name.trim()
  if (trimmed === '' || trimmed.toLowerCase().replaceAll('_', ' ') === meaning) return meaning
  return `${meaning} from ${JSON.stringify(trimmed)}`
}
