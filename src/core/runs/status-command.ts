// The status command: shows the state of runs, account and queue.

import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { npmRun } from '../../base/cli/commands.ts'
import { count, flawText, formatNumber, formatTable, spanText } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import { countOf } from '../../base/database/kysely.ts'
import { withinTime } from '../../base/database/sql-file.ts'
import { type Exit, exits } from '../../base/errors.ts'
import { pause } from '../../base/waiting.ts'
import {
  type CreditForecast,
  forecastJson,
  forecastSentences,
  readCreditForecast,
} from '../forecast/foresee.ts'
import { readBooks } from '../ledger/books.ts'
import { boundOf, type Costs } from '../ledger/prices.ts'
import { type Mill, openMill } from '../mill.ts'
import { nightSummaryLines, summariseNights } from '../scheduler/show.ts'
import { expectRun } from './run.ts'
import {
  endedLastMinute,
  readAccount,
  readRuns,
  readUnknown,
  type RunStatus,
  type UnknownCall,
} from './status.ts'

interface StatusFlags {
  readonly run?: number
  readonly watch?: true
  readonly unknown?: true
  readonly settings?: true
}

const everyMs = 2_000
const mostRuns = 20
const mostUnknown = 1_000
const forecastDays = 7

async function showMill({ options, env, closers, signal }: Call<StatusFlags>): Promise<Exit> {
  const config = readConfig(env)
  const json = options.json === true
  const run = options.run ?? null
  const open = { connections: 2, reading: true }
  const mill = await openMill({ config, closers, say, name: 'status', ...open })
  if (run !== null) await expectRun(mill.db, run)
  if (options.unknown === true) return showUnknown(mill, json)
  for (;;) {
    const view = await look(mill, run)
    if (json) printJson(statusJson(view))
    else {
      if (options.watch === true && process.stdout.isTTY) print('\u001b[2J\u001b[H')
      print(formatStatus(view))
    }
    if (options.watch !== true || signal.aborted) return exits.done
    await pause(everyMs)
  }
}

type MillState = Awaited<ReturnType<typeof look>>
export type StatusView = Omit<MillState, 'summaries'>

async function look(mill: Mill, run: number | null) {
  const queue = await mill.queue()
  return {
    ...(await readTables(mill, run)),
    queue: { backend: queue.backend, ...(await queue.count()) },
    // Null if the forecast takes too long to compute, as with very large lists.
    forecast: await withinTime(mill.db, 2_000, (db) => lookAhead({ ...mill, db })),
  }
}

/** Reads the current status from the database, except the queue and the forecast. */
export async function readTables(
  { db, config, supplier }: Pick<Mill, 'db' | 'config' | 'supplier'>,
  run: number | null,
) {
  const { account: name, origin: kind } = supplier
  const account = await readAccount(db, { name, kind })
  const summaries = await summariseNights(db)
  const runs = await readRuns(db, { run, limit: mostRuns })
  const prices = account === null ? [] : believedPrices((await readBooks(db, account.id)).costs)
  return {
    runs,
    // Runs that ended long ago are only counted.
    older: run === null ? (await countOf(db, db.selectFrom('runs').select('id'))) - runs.length : 0,
    account,
    accountName: name,
    prices,
    origin: kind,
    // The highest floor of the live workers, or the configured floor if no worker is alive.
    floor: account?.floor ?? config.creditFloor,
    endedLastMinute: await endedLastMinute(db),
    zone: config.zone,
    nights: nightSummaryLines(summaries),
    summaries,
  }
}

export function lookAhead(mill: Pick<Mill, 'db' | 'config' | 'supplier'>) {
  return readCreditForecast(mill, { days: forecastDays })
}

function statusJson({ account, floor, accountName: name, ...view }: MillState) {
  const { remaining = null, observed_at = null } = account ?? {}
  return {
    runs: view.runs,
    account: {
      ...account,
      ...{ name, remaining, observed_at, floor, prices: view.prices },
      stop: account?.stops[0]?.reason ?? null,
    },
    queue: view.queue,
    nights: view.summaries,
    forecast: view.forecast === null ? null : forecastJson(view.forecast),
  }
}

async function showUnknown(mill: Mill, json: boolean): Promise<Exit> {
  const calls = await readUnknown(mill.db, mostUnknown)
  if (json) {
    printJson({ calls, at_risk: calls.reduce((sum, call) => sum + call.credits_at_risk, 0) })
  } else print(formatUnknown(calls))
  return exits.done
}

export async function showStatus(call: Call<StatusFlags>): Promise<Exit> {
  const { options, env } = call
  if (options.settings !== true) return showMill(call)
  const { sources } = readConfig(env)
  if (options.json === true) printJson(Object.fromEntries(sources))
  else {
    const rows = [...sources].map(([name, { shown, source }]) => [name, shown, source])
    print(formatTable(['setting', 'value', 'from'], rows))
  }
  return exits.done
}

const stateColumns = ['open', 'answered', 'reused', 'not_asked', 'failed', 'unknown'] as const
const counts = ['tasks', ...stateColumns.map((state) => state.replace('_', ' ')), 'other']
const heads = ['run', 'list', 'date', 'state', ...counts, 'unreadable', 'spent']

export function formatStatus(view: StatusView): string {
  const lines: string[] = []
  if (view.origin === 'sandbox')
    lines.push('SANDBOX: answers come from the bundled service; no real credits are spent', '')
  lines.push(...runLines(view.runs))
  if (view.older > 0)
    lines.push(
      `and ${count(view.older, 'older run')}; to see an older run: ${npmRun('status --')} --run N`,
    )
  lines.push('')
  lines.push(...accountLines(view), ...priceLines(view.prices), '')
  if (view.nights.length > 0) lines.push(...view.nights, '')
  lines.push(
    `queue on ${view.queue.backend}: ${count(view.queue.jobs, 'job')}${view.queue.paused ? ', paused' : ''}`,
  )
  lines.push(speedLine(view), ...forecastPart(view))
  lines.push(`next: ${nextStep(view)}`)
  return lines.join('\n')
}

function runLines(runs: readonly RunStatus[]): string[] {
  if (runs.length === 0) return ['no runs yet']
  const rows = runs.map(({ tasks, ...run }) => [
    ...[run.run, run.list, run.run_date, run.state],
    Object.values(tasks).reduce((sum, number) => sum + number, 0),
    ...stateColumns.map((state) => tasks[state]),
    tasks.unaffordable + tasks.cancelled,
    run.unreadable,
    spentText(run),
  ])
  return [
    formatTable(heads, rows, { right: ['run', ...counts, 'unreadable', 'spent'] }),
    ...runs.flatMap(flawLine),
  ]
}

function spentText({ spent, uncertain, budget }: Omit<RunStatus, 'tasks'>): string {
  const held = uncertain === 0 ? '' : ` + ${uncertain} uncertain`
  const most = budget === null ? '' : ` of ${budget}`
  return `${spent}${held}${most}`
}

function accountLines({ account, accountName, floor }: StatusView): string[] {
  if (account === null)
    return [`account ${accountName}: not used yet; credit floor: ${formatNumber(floor)}`]
  const seen =
    account.remaining === null
      ? 'balance not reported yet'
      : `${count(account.remaining, 'credit')} (reported ${ago(account.observed_ago_s)} ago)`
  const held = account.reserved + account.uncertain
  const lines = [
    `account ${account.name}: ${seen}; credit floor: ${formatNumber(floor)}; ${count(account.workers, 'worker')}, ${count(account.in_flight, 'call')} in flight`,
  ]
  if (held > 0) {
    lines.push(
      `held: ${count(account.reserved, 'credit')} for calls in flight, ${formatNumber(account.uncertain)} for calls with an unknown outcome`,
    )
  }
  if (account.external_per_call > 0) {
    lines.push(
      `external spend: the balance falls by up to ${count(account.external_per_call, 'credit')} more per call than the API reports; others are using the account, or the reports are too low`,
    )
  }
  for (const stop of account.stops) {
    const until = stop.until === null ? '' : `, until ${stop.until}`
    lines.push(`stopped (${stop.reason}) since ${stop.since}${until}: ${stop.detail}`)
  }
  return lines
}

export function ago(seconds: number | null): string {
  if (seconds === null) return 'some time'
  if (seconds < 120) return `${seconds} s`
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}

function speedLine({ runs, account, endedLastMinute: ended, forecast }: StatusView): string {
  const open = runs.reduce((sum, { tasks }) => sum + tasks.open, 0)
  if (open === 0) return 'nothing is open'
  const tasks = count(open, 'open task')
  // A stopped account makes no progress, even if calls ended in the last minute.
  if ((account?.stops.length ?? 0) > 0) return tasks
  if (ended === 0) return `${tasks}; no calls ended in the last minute`
  return `${tasks}, ${count(ended, 'call')} ended in the last minute: ${etaOf(open, forecast)}`
}

/** Estimates the remaining time from the current rate and the available credits. */
export function etaOf(open: number, forecast: CreditForecast | null): string {
  const perMinute = forecast?.calls_per_minute ?? null
  if (forecast === null || perMinute === null) return 'too few calls to estimate the time left'
  const { outcome } = forecast
  const steps = outcome.kind === 'known' ? outcome.steps.filter(({ kind }) => kind === 'run') : []
  const bought = steps.reduce((sum, step) => sum + step.bought, 0)
  if (!steps.some(({ cut }) => cut !== null))
    return `about ${spanText((open / perMinute) * 60)} to go`
  return `the credits last for ${formatNumber(bought)} tasks, or about ${spanText((bought / perMinute) * 60)}`
}

function forecastPart({ forecast, origin, zone }: StatusView): string[] {
  if (origin === 'test') return []
  if (forecast === null) return [`forecast: ${npmRun('forecast')}`]
  return forecastSentences(forecast, zone).map((line) => `forecast: ${line}`)
}

export function nextStep({ runs, account }: Pick<StatusView, 'runs' | 'account'>): string {
  const reasons = new Set(account?.stops.map(({ reason }) => reason))
  if (reasons.has('auth')) return `set another SEARCH_API_KEY, or run: ${npmRun('resume')}`
  if (reasons.has('credit_floor')) return `top up the account, then run: ${npmRun('resume')}`
  if (reasons.has('budget')) return `wait, or raise the budget that is used up: ${npmRun('budget')}`
  if (runs.some(({ tasks }) => tasks.open > 0)) return `${npmRun('work --')} --drain`
  const short = runs.find(({ tasks }) => tasks.failed + tasks.unknown + tasks.unaffordable > 0)
  if (short === undefined) {
    return runs.length === 0 ? npmRun('enqueue inputs/keywords.csv') : npmRun('sql')
  }
  const { run, list, tasks } = short
  if (tasks.failed + tasks.unknown > 0) return `${npmRun('retry --')} --run ${run}`
  return `the budget of run ${run} or of the list ${list} is used up; see ${npmRun('budget')}, then run: ${npmRun('retry --')} --run ${run} --state unaffordable`
}

function formatUnknown(calls: readonly UnknownCall[]): string {
  if (calls.length === 0) return 'no calls have an unknown outcome'
  const risk = calls.reduce((sum, call) => sum + call.credits_at_risk, 0)
  const rows = calls.map((call) => [
    call.call,
    call.run,
    call.q,
    call.task_state,
    call.sent_at,
    call.credits_at_risk,
    call.held ? 'held' : 'free again',
    call.error,
  ])
  const columns = ['call', 'run', 'query', 'task', 'sent', 'at risk', 'credits', 'why']
  const table = formatTable(columns, rows, { right: ['call', 'run', 'at risk'] })
  return `${table}\n\n${count(calls.length, 'call')}, ${count(risk, 'credit')} at risk in total`
}

/** Prices seen in one price class, and the prices expected for calls sent alone and for concurrent calls. */
type BelievedPrice = ReturnType<typeof believedPrices>[number]

/** Prices that the ledger expects for each class with at least one known price. */
export function believedPrices(costs: Costs) {
  return [...costs]
    .filter(([, { seen }]) => seen > 0)
    .map(([name, { seen, cheapest, dearest }]) => {
      const { among, alone } = boundOf(costs, name)
      return { class: name, expected: among, alone, seen, cheapest, dearest }
    })
}

/** One line per price. If an expected price was seen only once, the line shows how to forget that price. */
export function priceLines(prices: readonly BelievedPrice[]): string[] {
  return prices.map(({ class: name, expected, alone, seen, cheapest, dearest }) => {
    const range =
      cheapest === dearest
        ? count(dearest, 'credit')
        : `${formatNumber(cheapest)} to ${count(dearest, 'credit')}`
    const aside =
      alone === expected
        ? formatNumber(expected)
        : `${formatNumber(expected)} if sent with other calls, ${formatNumber(alone)} if sent alone`
    const told = `price of ${name}: ${range} in ${count(seen, 'answer')}, reserved per call: ${aside}`
    return alone < expected && seen > 30
      ? `${told}; the price of ${formatNumber(expected)} was paid only once; to forget it, run: ${npmRun('resume --')} --forget-prices`
      : told
  })
}

/** Describes a run's answers that `reparse` can't fix. Returns no line if there are no such answers. */
function flawLine(status: RunStatus): string[] {
  const { run, unreadable, other_query } = status
  const text = flawText(status)
  if (text === '') return []
  const code = other_query > 0 ? 'OTHER_QUERY' : 'PAID_REFUSAL'
  return [
    `run ${run}: of ${count(unreadable, 'unreadable answer')}, ${text}; to buy them again: ${npmRun('retry --')} --run ${run} --error ${code} --buy-again --yes`,
  ]
}
