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
import { localDate } from '../../base/time/zone.ts'
import { type Mill, openMill, workerPool } from '../../core/mill.ts'
import { besideWork } from '../../core/nights/after-runs.ts'
import { finishDays } from '../../core/nights/finish.ts'
import type { Summary } from '../../core/worker/summary.ts'
import { type AlertRule, readAlertRules, replaceAlertRules } from '../alerts/statements.ts'
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
/** List that is bought daily in the first half of the nights and adaptively in the second half, for comparison. */
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

interface HistoryWanted extends Pick<History, 'nights' | 'signal' | 'report'> {
  readonly faults: boolean
  /** True for the history that the demo creates without flags. */
  readonly first: boolean
  readonly cadence: boolean
}

/** Runs the demo, starting with an empty database. At the end, shows where to find the results. */
export async function runDemo(
  { options, env, closers, signal }: Call<DemoFlags>,
  starts: Starts,
): Promise<Exit> {
  const faults = options.faults === true
  const cadence = options.cadence === true
  if (faults && cadence) throw new Misuse('expected --faults or --cadence, got both; leave one out')
  // Without flags, the history contains an alert, and a suspect night that is left out of the analysis.
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
  if (nights > 0) await besideWork(mill, async (db) => void (await finishDays(db)))
  if (cadence && options.json !== true) await showReceipts(mill)
  if (faults && options.json !== true) showMonth()
  await showWhatIsThere(mill, options.json === true)
  return summary.finish === 'completed' ? exits.done : exits.failures
}

/** Buys the nights' answers from a separate service, which injects faults with `--faults` and without any flag. */
async function runHistory(
  mill: Mill,
  { faults, first, cadence, ...options }: HistoryWanted,
  { closers, drifting, spoilt }: Starts & Pick<Call<DemoFlags>, 'closers'>,
): Promise<Summary | null> {
  let day = new Date()
  const today = { databaseUrl: mill.databaseUrl, today: () => day }
  const history = { ...options, setDay: (next: Date) => void (day = next) }
  if (faults || first) {
    const list = faults ? monthList : historyList
    const credits = mill.config.creditFloor + supplyOf(options.nights, file.queries)
    const stage = await spoilt({ ...today, credits })
    closers.add('the spoilt service', stage, (open) => open.close())
    const buyer = withApi(mill, { ...stage, account: faults ? monthList : 'demo' })
    await watchMonth(mill.db, list)
    const purpose = faults ? purposeOf : onePurpose
    return runNights(buyer, { ...history, list, stage, purpose })
  }
  const service = await drifting({ ...today, calm: cadence })
  closers.add('the drifting service', service, (open) => open.close())
  const buyer = withApi(mill, { ...service, account: 'demo' })
  const list = cadence ? restingList : historyList
  return runNights(buyer, { ...history, list, stage: null, rests: cadence })
}

function readNights(typed: string, faults: boolean): number {
  const nights = Number(typed)
  const least = faults ? leastNights : 0
  if (Number.isSafeInteger(nights) && nights >= least && nights <= mostNights) return nights
  throw new Misuse(
    `expected --nights from ${Math.max(1, least)} to ${mostNights}${faults ? ' with --faults' : ''}, got ${typed}`,
  )
}

/** Copy of the `Mill` that buys from another address and account. Its answers are still marked as sandbox. */
function withApi(mill: Mill, { url, key, account }: { url: string; key: string; account: string }) {
  const supplier = { ...mill.supplier, account }
  return { ...mill, supplier, api: async () => ({ url: new URL(url), key: new Secret(key) }) }
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
  print(
    `  ${npmRun('sql --')} nights --only suspect            nights left out of shares and trends`,
  )
  print(
    `  ${npmRun('alerts')}                                 rank changes; suspect nights raise none`,
  )
  print(`  ${npmRun('statement --')} --account ${monthList} --by run   where every credit went`)
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
  print(`  ${npmRun('sql')}                                    the question library`)
  print(`  ${npmRun('enqueue --')} your.csv --dry-run          what your own list would cost`)
  print(
    `  ${npmRun('status')}                                 runs, credits, the next command to run`,
  )
  print(`  ${npmRun('stack --')} status                        the database, for any SQL client`)
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
  const live = await db
    .selectFrom('searches')
    .select('id')
    .where('origin', '=', 'live')
    .limit(1)
    .executeTakeFirst()
  return live !== undefined
}
