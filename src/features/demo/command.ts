// The demo command: buys a small list on many nights from a simulated API, and shows the results.
import { join } from 'node:path'
import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { npmRun } from '../../base/cli/commands.ts'
import { formatTable } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { countOf, sql } from '../../base/database/kysely.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { root } from '../../base/root.ts'
import { Secret } from '../../base/secret.ts'
import { dayMs, localDate } from '../../base/time/zone.ts'
import { planList, queueRun } from '../../core/enqueue/planning.ts'
import { cancelRun } from '../../core/ledger/change-tasks.ts'
import { noDefaults } from '../../core/lists/options.ts'
import { type Mill, openMill, workerPool } from '../../core/mill.ts'
import { besideWork } from '../../core/nights/after-runs.ts'
import { finishDays } from '../../core/nights/finish.ts'
import { endRuns } from '../../core/nights/judge.ts'
import { usualLongestDays } from '../../core/scheduler/schedule.ts'
import type { Summary } from '../../core/worker/summary.ts'
import { work } from '../../core/worker/work.ts'
import { endNights } from '../alerts/find-alerts.ts'
import { type AlertRule, readAlertRules, replaceAlertRules } from '../alerts/statements.ts'
import { loadFirstDomains } from '../analysis/domains-command.ts'
import { setOrigins } from '../analysis/origins.ts'
import { decideByName } from '../cadence/choose.ts'
import { readCadenceReceipts, receiptLines } from '../cadence/command.ts'

/** The prefix `demo` shows that the history is simulated. */
const monthList = 'demo-month'
const historyList = 'demo-history'
/** List for comparing cadences: daily in the first half of the nights, adaptive in the second half. */
const restingList = 'demo-cadence'

export interface DemoFlags {
  readonly nights?: string
  readonly faults?: true
  readonly cadence?: true
}

/** Starts a search service whose answers change from day to day, and creates an API key for it. */
export type StartDrifting = (options: {
  readonly databaseUrl: string
  readonly today: () => Date
  /** If true, most answers stay unchanged for days or weeks. */
  readonly calm?: boolean
}) => Promise<{ readonly url: string; readonly key: string; close(): Promise<void> }>

/** Starts the same service behind a proxy. The proxy has its own balance, and can corrupt answers on request. */
export type StartSpoilt = (
  options: Parameters<StartDrifting>[0] & { readonly credits: number },
) => Promise<MonthStage & { close(): Promise<void> }>

const mostNights = 400

interface Starts {
  readonly drifting: StartDrifting
  readonly spoilt: StartSpoilt
}

/** Runs the demo, starting with an empty database. At the end, shows where to find the results. */
export async function runDemo(
  { options, env, closers, signal }: Call<DemoFlags>,
  starts: Starts,
): Promise<Exit> {
  const faults = options.faults === true
  const cadence = options.cadence === true
  if (faults && cadence)
    throw new Misuse('expected --faults or --cadence, got both; use only one of the two')
  // Without flags, the history contains an alert and a suspect night.
  const first = options.nights === undefined && !faults && !cadence
  const usual = cadence ? '60' : faults ? '30' : '14'
  const nights = readNights(options.nights ?? usual, faults)
  say('SANDBOX: answers come from the bundled service; no credits are spent')
  // The configured API is ignored, because a demo must never call a paid API.
  const config = { ...readConfig(env), api: null, account: null }
  const mill = await openMill({ config, closers, say, name: 'demo', ...workerPool })
  const drainOptions = { signal, report: say }
  say('reading inputs/keywords.csv and buying an answer for each query')
  let summary = await runSample(mill, drainOptions)
  if (nights > 0 && summary.finish === 'completed') {
    const wanted = { ...drainOptions, nights, faults, first, cadence }
    summary = (await runHistory(mill, wanted, { closers, ...starts })) ?? summary
  }
  await showSandboxInViews(mill)
  await makeDomainsOurs(mill)
  // Computes the sums for the default origins, so that the desk's keyword tables are ready.
  if (nights > 0) await besideWork(mill, storeSums)
  if (cadence && options.json !== true) await showReceipts(mill)
  if (faults && options.json !== true) showMonth()
  await showWhatIsThere(mill, options.json === true)
  return summary.finish === 'completed' ? exits.done : exits.failures
}

async function storeSums(db: Database): Promise<void> {
  await finishDays(db)
  // A nightly process runs for long enough that autovacuum gathers statistics. A demo ends at once, and the first
  // report would be planned without them.
  await sql`analyze`.execute(db)
}

function readNights(typed: string, faults: boolean): number {
  const nights = Number(typed)
  const least = faults ? leastNights : 0
  if (Number.isSafeInteger(nights) && nights >= least && nights <= mostNights) return nights
  throw new Misuse(
    `expected --nights from ${Math.max(1, least)} to ${mostNights}${faults ? ' with --faults' : ''}, got ${typed}`,
  )
}

async function showReceipts({ db }: Mill): Promise<void> {
  const lists = (await readCadenceReceipts(db)).filter(({ list }) => list === restingList)
  print(`\nADAPTIVE CADENCE, in the second half of the nights (${npmRun('cadence')}):\n`)
  print(receiptLines(lists).join('\n'))
  print(`\nAs charts: ${npmRun('desk')}, then open http://127.0.0.1:8750/cadence`)
}

/** Lets the views show sandbox answers, if the database is the embedded database and contains no live answers. */
async function showSandboxInViews(mill: Mill): Promise<void> {
  if (mill.config.databaseUrl !== null || (await hasLiveAnswers(mill.db))) return
  await setOrigins(mill.db, 'live,sandbox')
  say('the views in this database now also show sandbox answers (querymill.origins)')
}

/** Marks two domains from the answers as our own, if no domain is marked yet. */
async function makeDomainsOurs(mill: Mill): Promise<void> {
  if (await hasLiveAnswers(mill.db)) return
  const shown = 'inputs/demo/domains.csv'
  const today = localDate(mill.config.zone, new Date())
  await loadFirstDomains(mill.db, { path: join(root, shown), shown, today })
}

function showMonth(): void {
  print("\nThe month's faults and their effects:")
  hint('sql -- nights --only suspect', 'nights left out of shares and trends')
  hint('alerts', 'rank changes, except on suspect nights')
  hint(`statement -- --account ${monthList} --by run`, 'where every credit went')
}

function hint(command: string, what: string): void {
  print(`  ${npmRun(command).padEnd(54)} ${what}`)
}

async function showWhatIsThere({ db }: Mill, json: boolean): Promise<void> {
  const counts: (readonly [string, number])[] = []
  for (const table of answerTables) counts.push([table, await countOf(db, db.selectFrom(table))])
  const { rows: answer } = await sql
    .raw<{ host: string; queries: number; best: number }>(question)
    .execute(db)
  if (json) return printJson({ sandbox: true, tables: Object.fromEntries(counts), answer })
  print(`\n${formatTable(['table', 'rows'], counts, { right: ['rows'] })}`)
  print('\nWhich hosts rank most often in the top three?\n')
  print(question)
  const rows = answer.map(({ host, queries, best }) => [host, queries, best])
  print(`\n${formatTable(['host', 'queries', 'best'], rows, { right: ['queries', 'best'] })}`)
  print('\nSANDBOX: these answers come from the bundled service. Next:')
  hint('sql', 'the question library')
  hint('enqueue -- your.csv --dry-run', 'what your own list would cost')
  hint('status', 'runs, credits, the next command to run')
  hint('stack -- status', 'the database, for any SQL client')
  print(`\nSee it all on one page: ${npmRun('desk')}, then open http://127.0.0.1:8750`)
}

const rule: Omit<AlertRule, 'name' | 'what' | 'list'> = {
  ...{ threshold: null, direction: null, tag: null, domain: 'caniuse.com' },
  ...{ rival: null, feature: null, confirm: 1 },
}

/** Loads the demo's alert rules, if there are no alert rules yet. */
async function watchMonth(db: Database, list: string): Promise<void> {
  if ((await readAlertRules(db)).length > 0) return
  await replaceAlertRules(db, [
    { ...rule, name: 'demo: gone', what: 'left', list },
    { ...rule, name: 'demo: fell by three', what: 'moved', threshold: 3, direction: 'down', list },
  ])
}

const answerTables = [
  ...(['queries', 'searches', 'organic_results', 'pages', 'domains'] as const),
  ...(['search_entities', 'search_clusters', 'search_related_searches'] as const),
]

/** The demo's SQL query, written as an analyst would write it. */
const question = `select d.host, count(distinct s.query_id) as queries, min(o.position) as best
from searches s
join organic_results o on o.search_id = s.id
join domains d on d.id = o.domain_id
where o.position <= 3
group by d.host
order by queries desc, d.host
limit 5`

async function hasLiveAnswers(db: Database): Promise<boolean> {
  const live = db.selectFrom('searches').where('origin', '=', 'live')
  return (await countOf(db, live.limit(1))) > 0
}

const file = { shown: 'inputs/keywords.csv', queries: 60 }

const purposes = {
  empty: 'every answer empty',
  shallow: 'answers a tenth as deep',
  failing: 'two of five queries fail',
  nobody: 'no worker',
  html: 'HTML instead of answers',
  dear: 'three times the price',
} as const

type Purpose = keyof typeof purposes

/** Simulated API for the month, with controls for its faults and its balance. */
interface MonthStage {
  readonly url: string
  readonly key: string
  readonly set: (fault: Purpose | null) => void
  readonly change: (credits: number) => void
}

/** Minimum number of nights needed for the normal nights at the start and all faults. */
const leastNights = 12

const usualNights = 4
const plannedPurposes = Object.keys(purposes) as readonly Purpose[]

/** Chooses a night's fault; null for a normal night. After the first nights, each fault occurs once. */
function purposeOf(night: number, nights: number): Purpose | null {
  const apart = Math.floor((nights - usualNights) / plannedPurposes.length)
  const since = night - usualNights
  return since < 0 || since % apart > 0 ? null : (plannedPurposes[since / apart] ?? null)
}

/** Chooses a fault for a single night of the history: the fourth night before the newest night. */
function onePurpose(night: number, nights: number): Purpose | null {
  return night === nights - 5 ? 'shallow' : null
}

const spentByOthers = 25

/** Half of the credits for the nights, five spare nights and other users. The other half is added halfway through. */
function supplyOf(nights: number, queries: number): number {
  return Math.ceil(((nights + 5) * queries + spentByOthers) / 2)
}

/** Options for the demo's workers, which buy until nothing is left to buy. */
type Draining = Pick<Parameters<typeof work>[1], 'signal' | 'report'>

async function runSample(mill: Mill, options: Draining): Promise<Summary> {
  const { zone, maxAgeMs } = mill.config
  const runDate = localDate(zone, new Date())
  await planSample(mill, { list: 'keywords', kind: 'manual', runDate, maxAgeMs })
  return drain(mill, options)
}

interface History extends Draining {
  readonly nights: number
  readonly faults: boolean
  /** True for the default history, which has a single fault. */
  readonly first: boolean
  /** True if the second half of the nights has an adaptive cadence. */
  readonly cadence: boolean
}

/**
 * Plans and buys one run per day, oldest first, through the real pipeline. The answers come from a separate service,
 * which injects faults if `--faults` or no flag is set.
 */
async function runHistory(
  mill: Mill,
  { nights, faults, first, cadence, ...options }: History,
  { closers, drifting, spoilt }: Starts & Pick<Call, 'closers'>,
): Promise<Summary | null> {
  let day = new Date()
  const today = { databaseUrl: mill.databaseUrl, today: () => day }
  const supply = supplyOf(nights, file.queries)
  const credits = mill.config.creditFloor + supply
  const stage = faults || first ? await spoilt({ ...today, credits }) : null
  const service = stage ?? (await drifting({ ...today, calm: cadence }))
  closers.add('the simulated service', service, (open) => open.close())
  const list = faults ? monthList : cadence ? restingList : historyList
  if (stage !== null) await watchMonth(mill.db, list)
  const simulated: Mill = {
    ...mill,
    // Answers are marked as sandbox even though the address and the account differ.
    supplier: { ...mill.supplier, account: faults ? monthList : 'demo' },
    api: async () => ({ url: new URL(service.url), key: new Secret(service.key) }),
  }
  let last: Summary | null = null
  for (let ago = nights - 1; ago >= 0 && !options.signal.aborted; ago -= 1) {
    // After today's sample, an adaptive list is not due again today, so the list's history ends yesterday.
    day = new Date(Date.now() - (cadence ? ago + 1 : ago) * dayMs)
    const runDate = localDate(mill.config.zone, day)
    // Even answers for past run dates are bought today. The list name shows that the history is simulated.
    const night = nights - 1 - ago
    const purpose = stage === null ? null : (faults ? purposeOf : onePurpose)(night, nights)
    stage?.set(purpose)
    // Simulates external spend early in the history, and a top-up halfway through.
    if (night === 2) stage?.change(-spentByOthers)
    if (night === Math.floor(nights / 2)) stage?.change(supply)
    const adaptive = cadence && ago < nights / 2
    last = (await buyNight(simulated, { list, runDate, purpose, adaptive }, options)) ?? last
    if (last !== null && last.finish !== 'completed') break
  }
  return last
}

/** Buys a night's answers; returns null if the night has no worker on purpose. */
async function buyNight(
  mill: Mill,
  {
    purpose,
    ...night
  }: Pick<Sample, 'list' | 'runDate' | 'adaptive'> & { purpose: Purpose | null },
  options: Draining,
): Promise<Summary | null> {
  const { list: listName, runDate } = night
  const longestDays = usualLongestDays
  if (night.adaptive === true) await decideByName(mill, { listName, runDate, longestDays })
  const { run } = await planSample(mill, { ...night, kind: 'nightly', maxAgeMs: 0 })
  const marked = purpose === null ? '' : `; on purpose: ${purposes[purpose]}`
  if (purpose === 'nobody') {
    options.report(`${runDate}: nothing answered${marked}`)
    // Cancels the remaining tasks, as the next night would.
    await cancelRun(mill.db, run)
    await endRuns(mill.db, { report: options.report })
    return null
  }
  const summary = await drain(mill, options)
  options.report(`${runDate}: ${summary.answered} answered${marked}`)
  return summary
}

type Sample = Pick<
  Parameters<typeof planList>[1],
  'list' | 'kind' | 'runDate' | 'maxAgeMs' | 'adaptive'
>

async function planSample(mill: Mill, given: Sample) {
  const { shown } = file
  const plan = await planList(mill, {
    ...given,
    from: { kind: 'file', path: join(root, shown), shown },
    reading: { matchTypes: 'keep', defaults: noDefaults },
    budget: undefined,
    into: null,
  })
  await queueRun(mill, await mill.queue(), plan.run)
  return plan
}

function drain(mill: Mill, options: Draining): Promise<Summary> {
  const { concurrency: lanes } = mill.config
  return work(mill, { drain: true, lanes, afterRuns: endNights, ...options })
}
