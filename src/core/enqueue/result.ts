// Describes a plan as text and as JSON.

import type { Heading } from '../lists/read.ts'
import type { Mill } from '../mill.ts'
import type { Intake } from './flags.ts'
import type { ListPlan, Plans } from './planning.ts'
import type { ListSummary, PlanSummary, Totals } from './summary.ts'

/** JSON output of an enqueue. */
export interface EnqueueReport extends Totals {
  readonly run: number | null
  readonly list: string
  readonly dry_run: boolean
  /** True if the list or its run still has tasks to buy. */
  readonly open: boolean
  /** Parameters shared by all queries, as `name value`. */
  readonly parameters: readonly string[]
  readonly runs: readonly object[]
}

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
    headersAgain.length === 0 ? '' : `, repeated headers on line ${headersAgain.join(', ')}`
  return {
    ...list,
    run: committed || list.joined ? list.run : null,
    reading: heading === null ? 'as last read' : `${readingPhrase(heading)}${again}`,
    column: heading === null ? null : columnPhrase(heading),
    ignored: heading === null ? [] : readingReport(heading).ignored,
  }
}

/** Builds the plan's JSON; `files` are the files of each list's rejected lines. */
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
      removed: list.removed.queries,
      removed_credits: list.removedCost.credits,
      dropped: list.dropped,
      estimate: list.estimate,
      reasons: list.reasons,
      reading: list.heading === null ? null : readingReport(list.heading),
      notices: list.notices,
      sample: list.sample,
      rejected_file: files[index] ?? null,
    })),
  }
}

/** Describes in JSON how a list was read. */
function readingReport(heading: Heading) {
  const { encoding, dialect, verdict, runnerUp } = heading
  const { delimiter, headerLine, header, columns } = dialect
  const used = columns.others.filter(({ index }) => !verdict.ignored.has(index))
  const name = (index: number): string | null => header[index]?.trim() ?? null
  const query = { index: columns.query, role: 'query' }
  const described = (index: number) => ({
    column: index + 1,
    name: name(index),
    samples: samplesOf(heading, index),
  })
  return {
    file: heading.file,
    sheet: heading.sheet,
    encoding: encoding.label,
    encoding_by: encoding.how,
    delimiter,
    // JSON lines have field names in place of a header.
    header_line: headerLine === 0 ? null : headerLine,
    // Names are null if the file has no header.
    columns: [query, ...used]
      .toSorted((a, b) => a.index - b.index)
      .map(({ index, role }) => ({ ...described(index), means: role })),
    // The next most likely query column; null if there is none.
    runner_up: runnerUp === null ? null : described(runnerUp),
    ignored: [
      ...columns.ignored.map((cell) => cell.trim()),
      ...[...verdict.ignored.keys()].map((index) => name(index) ?? String(index + 1)),
    ],
  }
}

function samplesOf({ rows }: Heading, index: number): string[] {
  return rows.map((cells) => (cells[index] ?? '').trim().slice(0, 60))
}

/** Describes the query column and the next most likely one with their contents, so that a wrong choice is obvious. */
function columnPhrase(heading: Heading): string | null {
  const { header, columns } = heading.dialect
  if (columns.width === 1) return null
  const described = (index: number): string => {
    const name = header[index]?.trim() ?? ''
    const samples = samplesOf(heading, index).map((text) => JSON.stringify(text))
    return `${index + 1}${name === '' ? '' : ` ${JSON.stringify(name)}`}: ${samples.join(', ')}`
  }
  const { runnerUp } = heading
  const other = runnerUp === null ? '' : `; not ${described(runnerUp)}`
  return `${described(columns.query)}${other}`
}

const delimiterWords = new Map<string | null, string>([
  [',', 'commas'],
  [';', 'semicolons'],
  ['\t', 'tabs'],
  ['|', 'bars'],
])

/** Describes in a phrase how a list was read. */
function readingPhrase(heading: Heading): string {
  const { encoding, dialect, verdict } = heading
  const { delimiter, headerLine, header, columns } = dialect
  const isJson = headerLine === 0
  const divided = isJson
    ? 'JSON lines'
    : delimiter === null
      ? 'one query per line'
      : `separated by ${delimiterWords.get(delimiter) ?? JSON.stringify(delimiter)}`
  const query = header[columns.query]?.trim()
  const column = columns.width > 1 ? `, queries from column ${columns.query + 1}` : ''
  const from =
    headerLine === null || query === undefined
      ? `no header${column}`
      : `queries from ${JSON.stringify(query)}${isJson ? '' : ` (header on line ${headerLine})`}`
  const named = columns.others
    .filter(({ index }) => !verdict.ignored.has(index))
    .map(({ role, index }) => withName(role === 'target' ? 'target url' : role, header[index]))
  const also = named.length === 0 ? '' : `, with ${named.join(', ')}`
  const sheet = heading.sheet === null ? '' : `table ${JSON.stringify(heading.sheet)}, `
  return `${sheet}${encoding.label}, ${divided}, ${from}${also}`
}

/** Formats a meaning, followed by the name of its column if that differs. */
function withName(meaning: string, name: string | undefined): string {
  const trimmed = name?.trim() ?? ''
  if (trimmed === '' || trimmed.toLowerCase().replaceAll('_', ' ') === meaning) return meaning
  return `${meaning} from ${JSON.stringify(trimmed)}`
}
