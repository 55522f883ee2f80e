import { join, resolve } from 'node:path'
import { callerFolder, readDuration, type Config, type Environment } from './config.ts'
import {
  planLists,
  queueRun,
  type ListOrder,
  type ListPlan,
  type Plans,
  type Step,
} from './enqueue.ts'
import { Misuse } from './errors.ts'
import { findFiles, type ListFile } from './lists/files.ts'
import { readDefaults, type Typed } from './lists/flags.ts'
import { openList, type Heading, type ReadOptions } from './lists/read.ts'
import { removeRejects, writeRejects } from './lists/rejects.ts'
import { openFile } from './lists/source.ts'
import type { Mill } from './mill.ts'
import { addEstimates, foresee, needsYes, type Outlook } from './plan/forecast.ts'
import { count, summaryLines, type Summary, type SummaryList } from './plan/summary.ts'
import { defaultNum } from './query.ts'
import { root } from './root.ts'
import { rejectedLines } from './store/plan.ts'
import { localDate } from './zone.ts'

/** What can be typed after `npm run enqueue --`. */
export interface EnqueueFlags extends Typed {
  readonly as?: string
  readonly maxAge?: string
  readonly budget?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly encoding?: string
  readonly delimiter?: string
  readonly column?: string
  readonly matchTypes?: string
  readonly json?: boolean
}

/** Lists that are ready to be planned: everything that needs no database has been checked. */
export interface Intake {
  readonly files: readonly ListFile[]
  readonly orders: readonly Omit<ListOrder, 'from'>[]
  readonly notices: readonly string[]
  readonly parameters: readonly string[]
  readonly maxAge: string
  readonly budget: number | null
}

export interface IntakeOptions {
  readonly args: readonly string[]
  readonly flags: EnqueueFlags
  readonly env: Environment
  readonly config: Config
}

/** Checks flags and the beginnings of all files, so that a wrong one is refused before anything is started. */
export async function openIntake({ args, flags, env, config }: IntakeOptions): Promise<Intake> {
  const reading = readingOf(flags)
  const maxAgeMs = maxAgeOf(flags.maxAge, config)
  const budget = budgetOf(flags.budget)
  const folder = callerFolder(env)
  const { files, skipped } = await findFiles({
    args,
    folder,
    config: join(root, 'inputs', 'config'),
    as: nameOf(flags.as),
  })
  for (const { path, shown } of files) if (path !== null) await checkHead(path, shown, reading)
  const runDate = localDate(config.zone, new Date())
  return {
    files,
    orders: files.map(({ name }) => ({
      list: name,
      reading,
      kind: 'manual',
      runDate,
      budget: budget ?? undefined,
      maxAgeMs,
      into: null,
    })),
    notices: skipped.map((shown) => `left out ${resolve(folder, shown)}: it holds no list`),
    parameters: parametersOf(reading),
    maxAge: flags.maxAge ?? config.sources.get('MILL_MAX_AGE')?.shown ?? `${maxAgeMs} ms`,
    budget,
  }
}

function readingOf(flags: EnqueueFlags): ReadOptions {
  const { encoding, delimiter, column } = flags
  const matchTypes = flags.matchTypes ?? 'keep'
  if (matchTypes !== 'keep' && matchTypes !== 'strip') {
    throw new Misuse(
      `expected --match-types to be keep or strip, got ${JSON.stringify(matchTypes)}`,
    )
  }
  const yes = flags.yes === true
  return { encoding, delimiter, column, matchTypes, yes, defaults: readDefaults(flags) }
}

function maxAgeOf(typed: string | undefined, config: Config): number {
  if (typed === undefined) return config.maxAgeMs
  const maxAgeMs = readDuration(typed)
  if (maxAgeMs !== null) return maxAgeMs
  throw new Misuse(
    `expected --max-age to be a duration like 12h, 90m or 0, got ${JSON.stringify(typed)}`,
  )
}

function budgetOf(typed: string | undefined): number | null {
  if (typed === undefined) return null
  const budget = Number(typed)
  if (/^\d{1,12}$/.test(typed)) return budget
  throw new Misuse(
    `expected --budget to be a whole number of credits, got ${JSON.stringify(typed)}`,
  )
}

function nameOf(as: string | undefined): string | undefined {
  if (as === undefined) return undefined
  const name = as.normalize('NFC').trim()
  if (name === '' || name.length > 200 || /\p{Cc}/u.test(name)) {
    throw new Misuse(`expected --as to be a name, got ${JSON.stringify(as)}`)
  }
  return name
}

async function checkHead(path: string, shown: string, reading: ReadOptions): Promise<void> {
  const source = await openFile(path, shown)
  try {
    await openList(source, reading)
  } finally {
    await source.close()
  }
}

function parametersOf({ defaults, matchTypes }: ReadOptions): string[] {
  const named = [
    ['location', defaults.location],
    ['hl', defaults.hl],
    ['gl', defaults.gl],
    [
      'num',
      defaults.num.length === 0 ? [`${defaultNum} unless the list says otherwise`] : defaults.num,
    ],
    ['device', defaults.device],
    ['priority', defaults.priority === null ? [] : [defaults.priority]],
    ['tags', defaults.tags],
    ['match types', matchTypes === 'strip' ? ['stripped'] : []],
  ] as const
  return named.flatMap(([name, values]) =>
    values.length === 0 ? [] : [`${name} ${values.join(' | ')}`],
  )
}

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
  readonly estimate: ListPlan['estimate']
  readonly balance: Outlook
  readonly dry_run: boolean
  readonly runs: readonly object[]
}

export interface Talk {
  readonly say: (line: string) => void
  readonly show: (line: string) => void
  readonly progress: (step: Step) => void
  /** Asks a person; null where there is none. */
  readonly ask: ((question: string) => Promise<boolean>) | null
}

/** Plans all lists, shows what that comes to, and queues their runs unless it was a preview or nobody agreed. */
export async function enqueue(
  mill: Mill,
  intake: Intake,
  { flags, talk, stream }: { flags: EnqueueFlags; talk: Talk; stream: AsyncIterable<unknown> },
): Promise<EnqueueReport | null> {
  const orders = intake.orders.map((order, index): ListOrder => {
    const { path, shown } = fileAt(intake, index)
    return {
      ...order,
      from: path === null ? { kind: 'stream', stream } : { kind: 'file', path, shown },
    }
  })
  for (const notice of intake.notices) talk.say(notice)
  const desk = { db: mill.db, market: mill.market, progress: talk.progress }
  const tell = (plans: Plans): Summary => {
    const summary = summarise(mill, intake, plans)
    for (const line of summaryLines(summary)) talk.show(line)
    return summary
  }
  // Only live credits are worth a question; a plan that was agreed to is made again, with what is true by then.
  const careful = mill.market.origin === 'live' && flags.yes !== true
  let shown = false
  const agree = async (preview: Plans): Promise<boolean> => {
    const { estimate } = totals(mill, intake, preview)
    const queued = sum(preview, ({ queued: tasks }) => tasks)
    if (!needsYes(queued, estimate)) return true
    tell(preview)
    shown = true
    const calls = count(queued, 'call')
    if (talk.ask === null) {
      throw new Misuse(`expected --yes for a purchase of ${calls}, got none; nothing was queued`)
    }
    return talk.ask(`Buy ${calls}? [y/N] `)
  }
  const plans = await planLists(
    desk,
    orders,
    flags.dryRun === true ? 'never' : careful ? agree : 'always',
  )
  if (!shown) tell(plans)
  if (!plans.committed && flags.dryRun !== true) return null
  const files = plans.committed ? await keepRejects(mill, intake, plans, talk) : []
  if (plans.committed) {
    const queue = await mill.queue()
    for (const { run, done } of plans.lists) if (!done) await queueRun(desk, queue, run)
  }
  return report(mill, intake, plans, files)
}

function fileAt({ files }: Intake, index: number): ListFile {
  const file = files[index]
  if (file === undefined) throw new Error('expected a file for each order, got none')
  return file
}

async function keepRejects(
  mill: Mill,
  intake: Intake,
  { lists }: Plans,
  talk: Talk,
): Promise<(string | null)[]> {
  const files: (string | null)[] = []
  for (const [index, { rejected, run }] of lists.entries()) {
    const { path, shown } = fileAt(intake, index)
    if (rejected === 0) {
      if (path !== null) await removeRejects(path)
      files.push(null)
      continue
    }
    const beside = path ?? join(mill.config.home, 'rejected', 'stdin.csv')
    const written = await writeRejects(beside, mill.config.home, () => rejectedLines(mill.db, run))
    const reason = written.beside || path === null ? '' : ', as its folder cannot take them'
    talk.say(`${count(rejected, 'line')} of ${shown} rejected: see ${written.path}${reason}`)
    files.push(written.path)
  }
  return files
}

function totals(mill: Mill, intake: Intake, plans: Plans) {
  const estimate = addEstimates(plans.lists.map((list) => list.estimate))
  const floor = Math.max(mill.config.creditFloor, plans.purse.floor ?? 0)
  const { remaining } = plans.purse
  return { estimate, outlook: foresee(estimate, { remaining, floor, budget: intake.budget }) }
}

function summarise(mill: Mill, intake: Intake, plans: Plans): Summary {
  return {
    ...totals(mill, intake, plans),
    lists: plans.lists.map((list) => summaryOf(list, plans.committed)),
    origin: mill.market.origin,
    api: mill.market.api,
    parameters: intake.parameters,
    maxAge: intake.maxAge,
  }
}

function summaryOf(list: ListPlan, committed: boolean): SummaryList {
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

function report(
  mill: Mill,
  intake: Intake,
  plans: Plans,
  files: readonly (string | null)[],
): EnqueueReport {
  const [first] = plans.lists
  if (first === undefined) throw new Error('expected a list, got none')
  const runOf = (list: ListPlan): number | null =>
    plans.committed || list.joined ? list.run : null
  const { estimate, outlook } = totals(mill, intake, plans)
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
    balance: outlook,
    dry_run: !plans.committed,
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

function sum({ lists }: Plans, read: (list: ListPlan) => number): number {
  return lists.reduce((total, list) => total + read(list), 0)
}
