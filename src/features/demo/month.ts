// A simulated month of nights with faults, and its summary.
import { npmRun } from '../../base/cli/commands.ts'
import { formatTable } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { forecastJson, forecastLines, readCreditForecast } from '../../core/forecast/foresee.ts'
import { readStatement } from '../../core/ledger/statement.ts'
import type { Mill } from '../../core/mill.ts'
import { listOddNights, type OddNight } from '../../core/nights/odd-nights.ts'
import { nameRises, statementLines } from '../../core/runs/statement.ts'
import { formatAlerts } from '../alerts/command.ts'
import {
  type AlertRule,
  listAlerts,
  readAlertRules,
  replaceAlertRules,
} from '../alerts/statements.ts'

/** Faults injected into nights, with descriptions. */
export const purposes = {
  empty: 'every answer empty',
  shallow: 'answers a tenth as deep',
  failing: 'two of five queries fail',
  nobody: 'no worker',
  html: 'HTML instead of answers',
  dear: 'three times the price',
} as const

export type Purpose = keyof typeof purposes

/** Simulated API of the month, with controls for its faults and balance. */
export interface MonthStage {
  readonly url: string
  readonly key: string
  readonly set: (fault: Purpose | null) => void
  readonly change: (credits: number) => void
}

/** Minimum number of nights that leaves room for all faults and for the normal nights before them. */
export const leastNights = 12

const usualNights = 4
const planned = Object.keys(purposes) as readonly Purpose[]

/** Chooses the fault of a night. The first nights are normal; then each fault occurs once, evenly spaced. */
export function purposeOf(night: number, nights: number): Purpose | null {
  const apart = Math.floor((nights - usualNights) / planned.length)
  const since = night - usualNights
  return since < 0 || since % apart > 0 ? null : (planned[since / apart] ?? null)
}

/** A single fault, four nights before the newest. */
export function onePurpose(night: number, nights: number): Purpose | null {
  return night === nights - 5 ? 'shallow' : null
}

export const spentByOthers = 25

const shownAlerts = 10

/**
 * Half of the credits for these nights and queries, including about five extra nights. This amount is available at
 * first, and added again halfway through.
 */
export function supplyOf(nights: number, queries: number): number {
  return Math.ceil(((nights + 5) * queries + spentByOthers) / 2)
}

const rule: Omit<AlertRule, 'name' | 'what' | 'list'> = {
  ...{ threshold: null, direction: null, tag: null, domain: 'caniuse.com' },
  ...{ rival: null, feature: null, confirm: 1 },
}

/** Loads the demo's alert rules if there are none. */
export async function watchMonth(db: Database, list: string): Promise<void> {
  if ((await readAlertRules(db)).length > 0) return
  await replaceAlertRules(db, [
    { ...rule, name: 'demo: gone', what: 'left', list },
    { ...rule, name: 'demo: fell by three', what: 'moved', threshold: 3, direction: 'down', list },
  ])
}

/** Summary of a month. */
export type MonthView = Awaited<ReturnType<typeof readMonth>>

/** Reads the forecast, the suspect nights, and the use of all credits. */
export async function readMonth({ config, db, supplier }: Mill, list: string) {
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
export function monthLines({
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
export function monthJson({ forecast, nights, alerts, sums, events }: MonthView) {
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
export async function countRows(db: Database): Promise<readonly (readonly [string, number])[]> {
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
export const question = `select d.host, count(distinct s.query_id) as queries, min(o.position) as best
from searches s
join organic_results o on o.search_id = s.id
join domains d on d.id = o.domain_id
where o.position <= 3
group by d.host
order by queries desc, d.host
limit 5`

/** Result of the query. */
export async function askQuestion(
  db: Database,
): Promise<readonly { host: string; queries: number; best: number }[]> {
  const { rows } = await sql<{
    host: string
    queries: number
    best: number
  }>`${sql.raw(question)}`.execute(db)
  return rows
}

/** True if the database contains an answer paid for with real credits. */
export async function hasLiveAnswers(db: Database): Promise<boolean> {
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
