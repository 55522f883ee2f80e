// The demo command: buys a small list over many nights from a simulated API and shows the results.
import { join } from 'node:path'
import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { npmRun } from '../../base/cli/commands.ts'
import { formatTable } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { root } from '../../base/root.ts'
import { Secret } from '../../base/secret.ts'
import { localDate } from '../../base/time/zone.ts'
import { forecastJson, forecastLines, readCreditForecast } from '../../core/forecast/foresee.ts'
import { readStatement } from '../../core/ledger/statement.ts'
import { type Mill, openMill } from '../../core/mill.ts'
import { besideWork } from '../../core/nights/after-runs.ts'
import { finishDays } from '../../core/nights/finish.ts'
import { listOddNights, type OddNight } from '../../core/nights/odd-nights.ts'
import { nameRises, statementLines } from '../../core/runs/statement.ts'
import type { Summary } from '../../core/worker/summary.ts'
import { formatAlerts } from '../alerts/command.ts'
import {
  type AlertRule,
  listAlerts,
  readAlertRules,
  replaceAlertRules,
} from '../alerts/statements.ts'
import { loadFirstDomains } from '../analysis/domains-command.ts'
import { setOrigins } from '../analysis/origins.ts'
import { receiptLines } from '../cadence/command.ts'
import { readCadenceReceipts } from '../cadence/receipts.ts'
import {
  file,
  type History,
  leastNights,
  type MonthStage,
  onePurpose,
  purposeOf,
  runNights,
  runSample,
  supplyOf,
} from './nights.ts'

/** The name shows that the history is simulated. */
const monthList = 'demo-month'
const historyList = 'demo-history'
/** List that is bought daily in the first half and adaptively in the second, so that both can be compared. */
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

/** Starts the same service behind a proxy that has its own balance and can corrupt answers on request. */
export type StartSpoilt = (
  options: Parameters<StartDrifting>[0] & { readonly credits: number },
) => Promise<MonthStage & { close(): Promise<void> }>

const mostNights = 400

interface Starts {
  readonly drifting: StartDrifting
  readonly spoilt: StartSpoilt
}

interface HistoryWanted extends Pick<History, 'nights' | 'signal' | 'report'> {
  readonly faults: boolean
  /** True for the history of a demo without flags. */
  readonly first: boolean
  readonly cadence: boolean
}

/** Runs the demo from an empty database to answers, then shows where to find the results. */
export async function runDemo(
  { options, env, closers, signal }: Call<DemoFlags>,
  starts: Starts,
): Promise<Exit> {
  const faults = options.faults === true
  const cadence = options.cadence === true
  if (faults && cadence) throw new Misuse('expected --faults or --cadence, got both; leave one out')
  // Without flags, the history contains an alert and a night that is left out.
  const first = options.nights === undefined && !faults && !cadence
  const usual = cadence ? '60' : faults ? '30' : '14'
  const nights = readNights(options.nights ?? usual, faults)
  say('SANDBOX: the bundled service answers, no credits are spent')
  // Ignores the configured API: a demo must never call a paid one.
  const config = { ...readConfig(env), api: null, account: null }
  const mill = await openMill({ config, closers, say, name: 'demo', connections: 5 })
  const drainOptions = { signal, report: say }
  say('reading inputs/keywords.csv, buying an answer for each query')
  let month: MonthView | null = null
  let summary = await runSample(mill, drainOptions)
  if (nights > 0 && summary.finish === 'completed') {
    const wanted = { ...drainOptions, nights, faults, first, cadence }
    const history = await runHistory(mill, wanted, { closers, ...starts })
    summary = history.summary ?? summary
    month = history.month
  }
  await showSandboxInViews(mill)
  await makeDomainsOurs(mill)
  // Uses the default origins of a new session, so that the desk's keyword tables are ready.
  if (nights > 0) await besideWork(mill, async (db) => void (await finishDays(db)))
  if (cadence && options.json !== true) await showReceipts(mill)
  await showWhatIsThere(mill, { json: options.json === true, month })
  return summary.finish === 'completed' ? exits.done : exits.failures
}

/**
 * Buys the nights from a separate service. The service fails on purpose if the demo covers a month or runs without
 * flags.
 */
async function runHistory(
  mill: Mill,
  { faults, first, cadence, ...options }: HistoryWanted,
  { closers, drifting, spoilt }: Starts & Pick<Call<DemoFlags>, 'closers'>,
): Promise<{ readonly summary: Summary | null; readonly month: MonthView | null }> {
  let day = new Date()
  const { databaseUrl } = mill
  const today = { databaseUrl, today: () => day }
  const setDay = (next: Date) => {
    day = next
  }
  const history = { ...options, setDay }
  if (faults || first) {
    const list = faults ? monthList : historyList
    const credits = mill.config.creditFloor + supplyOf(options.nights, file.queries)
    const stage = await spoilt({ ...today, credits })
    closers.add('the spoilt service', stage, (open) => open.close())
    const buyer = withApi(mill, { ...stage, account: faults ? monthList : 'demo' })
    await watchMonth(mill.db, list)
    const purpose = faults ? purposeOf : onePurpose
    const summary = await runNights(buyer, { ...history, list, stage, purpose })
    return { summary, month: faults ? await readMonth(buyer, monthList) : null }
  }
  const service = await drifting({ ...today, calm: cadence })
  closers.add('the drifting service', service, (open) => open.close())
  const buyer = withApi(mill, { ...service, account: 'demo' })
  const list = cadence ? restingList : historyList
  const marked = { ...history, list, stage: null, rests: cadence }
  return { summary: await runNights(buyer, marked), month: null }
}

function readNights(typed: string, faults: boolean): number {
  const nights = Number(typed)
  const least = faults ? leastNights : 0
  if (Number.isSafeInteger(nights) && nights >= least && nights <= mostNights) return nights
  throw new Misuse(
    `expected --nights from ${Math.max(1, least)} to ${mostNights}${faults ? ' with --faults' : ''}, got ${typed}`,
  )
}

/**
 * Copy of the program that buys from a different URL, with its own key and account. Its answers are still marked as
 * sandbox.
 */
function withApi(
  mill: Mill,
  { url, key, account }: { url: string; key: string; account: string },
): Mill {
  const supplier = { ...mill.supplier, account }
  return { ...mill, supplier, api: async () => ({ url: new URL(url), key: new Secret(key) }) }
}

/** Prints the adaptive lists, and what they saved. */
async function showReceipts({ db }: Mill): Promise<void> {
  const lists = (await readCadenceReceipts(db)).filter(({ list }) => list === restingList)
  print(`\nADAPTIVE CADENCE, in the second half of the nights (${npmRun('cadence')}):\n`)
  print(receiptLines(lists).join('\n'))
  print(`\nAs charts: ${npmRun('desk')}, then open http://127.0.0.1:8750/cadence`)
}

/** Shows sandbox answers in the views if this is an embedded database without live answers. */
async function showSandboxInViews(mill: Mill): Promise<void> {
  if (mill.config.databaseUrl !== null || (await hasLiveAnswers(mill.db))) return
  await setOrigins(mill.db, 'live,sandbox')
  say('the views of this database now show answers of the sandbox too (querymill.origins)')
}

/** If there are no own domains yet, marks two domains from the answers as our own. */
async function makeDomainsOurs(mill: Mill): Promise<void> {
  if (await hasLiveAnswers(mill.db)) return
  const shown = 'inputs/demo/domains.csv'
  const today = localDate(mill.config.zone, new Date())
  await loadFirstDomains(mill.db, { path: join(root, shown), shown, today })
}

async function showWhatIsThere(
  mill: Mill,
  { json, month }: { json: boolean; month: MonthView | null },
): Promise<void> {
  const counts = await countRows(mill.db)
  const answer = await askQuestion(mill.db)
  if (json) {
    const told = month === null ? {} : { month: monthJson(month) }
    printJson({ sandbox: true, tables: Object.fromEntries(counts), answer, ...told })
    return
  }
  if (month !== null) print(monthLines(month).join('\n'))
  print(`\n${formatTable(['table', 'rows'], counts, { right: ['rows'] })}`)
  print('\nWhich hosts rank most often in the top three?\n')
  print(question)
  const rows = answer.map(({ host, queries, best }) => [host, queries, best])
  print(`\n${formatTable(['host', 'queries', 'best'], rows, { right: ['queries', 'best'] })}`)
  print('\nSANDBOX: these answers come from the bundled service. Next:')
  print(`  ${npmRun('sql')}                                    the library of questions`)
  print(`  ${npmRun('enqueue --')} your.csv --dry-run          what your own list would cost`)
  print(
    `  ${npmRun('status')}                                 runs, credits, the next command to run`,
  )
  print(`  ${npmRun('stack --')} status                        the database, for any SQL client`)
  print(`\nSee it all on one page: ${npmRun('desk')}, then open http://127.0.0.1:8750`)
}

const shownAlerts = 10

const rule: Omit<AlertRule, 'name' | 'what' | 'list'> = {
  ...{ threshold: null, direction: null, tag: null, domain: 'caniuse.com' },
  ...{ rival: null, feature: null, confirm: 1 },
}

/** Loads the demo's alert rules if there are none. */
async function watchMonth(db: Database, list: string): Promise<void> {
  if ((await readAlertRules(db)).length > 0) return
  await replaceAlertRules(db, [
    { ...rule, name: 'demo: gone', what: 'left', list },
    { ...rule, name: 'demo: fell by three', what: 'moved', threshold: 3, direction: 'down', list },
  ])
}

/** Summary of a month. */
type MonthView = Awaited<ReturnType<typeof readMonth>>

/** Reads the forecast, the suspect nights, and the use of all credits. */
async function readMonth({ config, db, supplier }: Mill, list: string) {
  const { zone } = config
  const unlimited = { ...config, dailyBudget: null, monthlyBudget: null }
  const forecast = await imagineSchedule(db, { list, zone }, (seen) =>
    readCreditForecast({ db: seen, supplier, config: unlimited }, { days: 7 }),
  )
  const order = { account: supplier.account, since: null, until: null, zone }
  const statement = await readStatement(db, order, 'day')
  const events = nameRises(statement.events, config)
  return {
    account: supplier.account,
    zone,
    forecast,
    nights: await listOddNights(db, list),
    alerts: await listAlerts(db, { id: null, rule: null, standing: false, limit: shownAlerts }),
    sums: statement.sums,
    // Changes that our calls may have caused have one line per call; their sum is sufficient here.
    events: events.filter(({ what }) => what !== 'perhaps ours'),
  }
}

/** Formats the month for people. */
function monthLines({
  account,
  zone,
  forecast,
  nights,
  alerts,
  ...statement
}: MonthView): readonly string[] {
  return [
    `\nFORECAST, if this list were bought each night at 02:00 from now on (${npmRun('forecast')}):\n`,
    ...forecastLines(forecast, zone),
    `\nSUSPECT NIGHTS, left out of shares and trends (${npmRun('sql --')} nights --only suspect):\n`,
    formatNights(nights.filter(({ suspect }) => suspect)),
    '\nODD NIGHTS, but shown (their page on the desk says why):\n',
    formatNights(nights.filter(({ suspect }) => !suspect)),
    `\nRANK ALERTS of the month, the newest first; suspect nights raise none (${npmRun('alerts')}):\n`,
    formatAlerts(alerts),
    `\nSTATEMENT (${npmRun('statement --')} --account ${account} --by run):\n`,
    ...statementLines({ by: 'day', zone, ...statement }),
  ]
}

/** Formats the month as JSON. */
function monthJson({ forecast, nights, alerts, sums, events }: MonthView) {
  const [suspects, odd] = [true, false].map((suspect) =>
    nights
      .filter((night) => night.suspect === suspect)
      .map(({ run_date, run, why }) => ({ run_date, run, why })),
  )
  return { forecast: forecastJson(forecast), suspects, odd, alerts, statement: { sums, events } }
}

function formatNights(nights: readonly OddNight[]): string {
  const rows = nights.map((night) => [night.run_date, night.run, night.why])
  return formatTable(['date', 'run', 'why'], rows, { right: ['run'] })
}

const answerTables = [
  'queries',
  'searches',
  'organic_results',
  'pages',
  'domains',
  'search_entities',
  'search_clusters',
  'search_related_searches',
] as const

/** Number of rows in each table of answers. */
async function countRows(db: Database): Promise<readonly (readonly [string, number])[]> {
  const counts: (readonly [string, number])[] = []
  for (const table of answerTables) {
    const { rows } = await db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('rows'))
      .executeTakeFirstOrThrow()
    counts.push([table, rows])
  }
  return counts
}

/** SQL query used in the demo, written as an analyst would. */
const question = `select d.host, count(distinct s.query_id) as queries, min(o.position) as best
from searches s
join organic_results o on o.search_id = s.id
join domains d on d.id = o.domain_id
where o.position <= 3
group by d.host
order by queries desc, d.host
limit 5`

/** Result of the query. */
async function askQuestion(db: Database) {
  const { rows } = await sql<{
    host: string
    queries: number
    best: number
  }>`${sql.raw(question)}`.execute(db)
  return rows
}

/** True if the database contains an answer paid for with real credits. */
async function hasLiveAnswers(db: Database): Promise<boolean> {
  const live = await db
    .selectFrom('searches')
    .select('id')
    .where('origin', '=', 'live')
    .limit(1)
    .executeTakeFirst()
  return live !== undefined
}

/** Reads in a transaction with a temporary nightly schedule for a list, and rolls it back. */
async function imagineSchedule<T>(
  db: Database,
  { list, zone }: { readonly list: string; readonly zone: string },
  look: (seen: Database) => Promise<T>,
): Promise<T> {
  const trx = await db.startTransaction().execute()
  try {
    await trx
      .insertInto('schedules')
      .values({
        ...{ name: 'each night', list, cron: '0 2 * * *', zone, missed: 'latest', overlap: 'skip' },
        ...{ enabled: true, known_until: sql<Date>`now()`, seen_at: sql<Date>`now()` },
        max_age_ms: 0,
      })
      .execute()
    return await look(trx)
  } finally {
    await trx.rollback().execute()
  }
}
