// The status command.

import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { formatTable } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import { countOf } from '../../base/database/kysely.ts'
import { withinTime } from '../../base/database/sql-file.ts'
import { type Exit, exits } from '../../base/errors.ts'
import { pause } from '../../base/waiting.ts'
import { forecastJson, readCreditForecast } from '../forecast/foresee.ts'
import { readBooks } from '../ledger/books.ts'
import { type Mill, openMill } from '../mill.ts'
import { type NightSummary, nightSummaryLines, summariseNights } from '../scheduler/show.ts'
import { expectRun } from './run.ts'
import { believedPrices, formatStatus, formatUnknown, type StatusView } from './screen.ts'
import { endedLastMinute, readAccount, readRuns, readUnknown } from './status.ts'

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

type MillState = StatusView & { readonly summaries: readonly NightSummary[] }

async function look(mill: Mill, run: number | null): Promise<MillState> {
  const queue = await mill.queue()
  return {
    ...(await readTables(mill, run)),
    queue: { backend: queue.backend, ...(await queue.count()) },
    forecast: await withinTime(mill.db, 2_000, (db) => lookAhead({ ...mill, db })),
  }
}

/** Reads the current status from the database, without the queue and the forecast. */
export async function readTables(
  { db, config, supplier }: Pick<Mill, 'db' | 'config' | 'supplier'>,
  run: number | null,
): Promise<Omit<MillState, 'queue' | 'forecast'>> {
  const { account: name, origin: kind } = supplier
  const account = await readAccount(db, { name, kind })
  const summaries = await summariseNights(db)
  const runs = await readRuns(db, { run, limit: mostRuns })
  const costs = account === null ? [] : believedPrices((await readBooks(db, account.id)).costs)
  return {
    runs,
    older: run === null ? (await countOf(db, db.selectFrom('runs').select('id'))) - runs.length : 0,
    account,
    accountName: name,
    prices: costs,
    origin: kind,
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
