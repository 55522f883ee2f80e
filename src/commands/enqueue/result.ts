import type { ListPlan, Plans } from './planning.ts'
import type { Intake } from './intake.ts'
import type { Heading } from '../../lists/read.ts'
import type { Mill } from '../mill/mill.ts'
import { addEstimates, foreseeBalance, type Balance, type Estimate } from './estimate.ts'
import type { ListSummary, PlanSummary } from './summary.ts'

/** What an enqueue says when it is through. */
export interface EnqueueReport {
  readonly run: number | null
  readonly list: string
  readonly rows: number
  readonly accepted: number
  readonly duplicates: number
  readonly rejected: number
  readonly tasks: number
  readonly queued: number
  readonly reused: number
  readonly already: number
  readonly estimate: Estimate
  readonly balance: Balance
  readonly dry_run: boolean
  /** True when something is left to be bought, of this list or of what its run held before. */
  readonly open: boolean
  readonly runs: readonly object[]
}

/** What all lists together cost, and what that leaves. */
export function totals(
  mill: Pick<Mill, 'config'>,
  intake: Intake,
  plans: Plans,
): { estimate: Estimate; balance: Balance } {
  const estimate = addEstimates(plans.lists.map((list) => list.estimate))
  const floor = Math.max(mill.config.creditFloor, plans.purse.floor ?? 0)
  const { remaining } = plans.purse
  const { budget } = intake
  const before = spentBefore(plans)
  return { estimate, balance: foreseeBalance(estimate, { remaining, floor, budget, before }) }
}

/** What the runs have used of their budgets, with what their open tasks may cost; null while a price is unknown. */
function spentBefore(plans: Plans): number | null {
  const open = sum(plans, ({ before }) => before.open)
  const spent = sum(plans, ({ before }) => before.spent)
  if (open === 0) return spent
  const { costs } = plans.purse
  if (costs.length === 0) return null
  return spent + open * Math.max(...costs.map(({ dearest }) => dearest))
}

/** The plan as a person reads it. */
export function summarise(
  mill: Pick<Mill, 'config' | 'market'>,
  intake: Intake,
  plans: Plans,
): PlanSummary {
  return {
    ...totals(mill, intake, plans),
    lists: plans.lists.map((list) => summaryOf(list, plans.committed)),
    origin: mill.market.origin,
    api: mill.market.api,
    parameters: intake.parameters,
    maxAge: intake.maxAge,
  }
}

function summaryOf(list: ListPlan, committed: boolean): ListSummary {
  const { heading, headersAgain } = list
  const again =
    headersAgain.length === 0 ? '' : `, a header again on line ${headersAgain.join(', ')}`
  return {
    ...list,
    run: committed || list.joined ? list.run : null,
    reading: heading === null ? 'as last read' : `${readingPhrase(heading)}${again}`,
    ignored: heading?.dialect.columns.ignored ?? [],
  }
}

const delimiterWords = new Map<string | null, string>([
  [',', 'commas'],
  [';', 'semicolons'],
  ['\t', 'tabs'],
  ['|', 'bars'],
])

function readingPhrase({ encoding, dialect }: Heading): string {
  const { delimiter, headerLine, header, columns } = dialect
  const divided =
    delimiter === null
      ? 'one query a line'
      : `divided by ${delimiterWords.get(delimiter) ?? JSON.stringify(delimiter)}`
  const query = header[columns.query]?.trim()
  const named = columns.others.map(({ role }) => (role === 'target' ? 'target url' : role))
  const from =
    headerLine === null || query === undefined
      ? 'no header'
      : `queries from ${JSON.stringify(query)} (header on line ${headerLine})`
  const also = named.length === 0 ? '' : `, with ${named.join(', ')}`
  return `${encoding.label}${encoding.guessed ? ' (guessed)' : ''}, ${divided}, ${from}${also}`
}

/** The plan as a program reads it. */
export function report(
  mill: Pick<Mill, 'config'>,
  intake: Intake,
  { plans, files }: { plans: Plans; files: readonly (string | null)[] },
): EnqueueReport {
  const [first] = plans.lists
  if (first === undefined) throw new Error('expected a list, got none')
  const runOf = (list: ListPlan): number | null =>
    plans.committed || list.joined ? list.run : null
  const { estimate, balance } = totals(mill, intake, plans)
  return {
    run: runOf(first),
    list: first.list,
    rows: sum(plans, ({ rows }) => rows),
    accepted: sum(plans, ({ accepted }) => accepted),
    duplicates: sum(plans, ({ duplicates }) => duplicates),
    rejected: sum(plans, ({ rejected }) => rejected),
    tasks: sum(plans, ({ tasks }) => tasks),
    queued: sum(plans, ({ queued }) => queued),
    reused: sum(plans, ({ reused }) => reused),
    already: sum(plans, ({ already }) => already),
    estimate,
    balance,
    dry_run: !plans.committed,
    open: plans.lists.some(({ done }) => !done),
    runs: plans.lists.map((list, index) => ({
      run: runOf(list),
      list: list.list,
      joined: list.joined,
      rows: list.rows,
      accepted: list.accepted,
      duplicates: list.duplicates,
      rejected: list.rejected,
      tasks: list.tasks,
      queued: list.queued,
      reused: list.reused,
      already: list.already,
      estimate: list.estimate,
      reasons: list.reasons,
      rejected_file: files[index] ?? null,
    })),
  }
}

/** Adds up a figure of all lists. */
export function sum({ lists }: Plans, read: (list: ListPlan) => number): number {
  return lists.reduce((total, list) => total + read(list), 0)
}
