import type { ListPlan, Plans } from './planning.ts'
import type { Intake } from './intake.ts'
import { readingPhrase, readingReport } from './reading.ts'
import type { Mill } from '../mill/mill.ts'
import type { Totals } from './totals.ts'
import type { ListSummary, PlanSummary } from './summary.ts'

/** What an enqueue says when it is through. */
export interface EnqueueReport extends Totals {
  readonly run: number | null
  readonly list: string
  readonly dry_run: boolean
  /** True when something is left to be bought, of this list or of what its run held before. */
  readonly open: boolean
  /** What holds for all queries, as `name value`. */
  readonly parameters: readonly string[]
  readonly runs: readonly object[]
}

/** The plan as a person reads it. */
export function summarise(
  { supplier }: Pick<Mill, 'supplier'>,
  intake: Intake,
  { lists, totals, committed }: Plans,
): PlanSummary {
  return {
    estimate: totals.estimate,
    balance: totals.balance,
    lists: lists.map((list) => summaryOf(list, committed)),
    origin: supplier.origin,
    api: supplier.api,
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
    ignored: heading === null ? [] : readingReport(heading).ignored,
  }
}

/** The plan as a program reads it; `files` are where the rejected lines of each list went. */
export function reportOf(
  plans: Plans,
  { parameters }: Pick<Intake, 'parameters'>,
  files: readonly (string | null)[],
): EnqueueReport {
  const [first] = plans.lists
  if (first === undefined) throw new Error('expected a list, got none')
  const runOf = (list: ListPlan): number | null =>
    plans.committed || list.joined ? list.run : null
  return {
    run: runOf(first),
    list: first.list,
    ...plans.totals,
    dry_run: !plans.committed,
    open: plans.lists.some(({ done }) => !done),
    parameters,
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
      unreadable: list.unreadable,
      already: list.already,
      estimate: list.estimate,
      reasons: list.reasons,
      reading: list.heading === null ? null : readingReport(list.heading),
      notices: list.notices,
      sample: list.sample,
      rejected_file: files[index] ?? null,
    })),
  }
}
