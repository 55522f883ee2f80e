// The report command: writes the state of the domains and lists to one file.

import { siteName } from '../../base/address.ts'
import { type Call, printJson, say } from '../../base/cli/command.ts'
import { callerPath, readConfig } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { withinTime } from '../../base/database/sql-file.ts'
import {
  hintLabels,
  readSlice,
  type Slice,
  sliceFlags,
  spanFlags,
} from '../../base/database/views.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { localDate } from '../../base/time/zone.ts'
import { openMill } from '../../core/mill.ts'
import { lookAhead } from '../../core/runs/status-command.ts'
import { firstOrigins, hintOrigins, readOrigins } from '../../features/analysis/origins.ts'
import { findTarget, promisedFormat, writeTarget } from '../../features/analysis/target.ts'
import { readSnapshot } from '../page.ts'
import { readOverview } from '../pages/overview.ts'
import { mostDomains, readReport, renderPage } from './page.ts'
import { renderSummary, sendSummary, summarise } from './summary.ts'

type Flags<Flag extends string, Value> = { readonly [Name in Flag]?: Value }

type ReportOptions = Flags<(typeof sliceFlags)[number], readonly string[]> &
  Flags<(typeof spanFlags)[number] | 'to' | 'domains' | 'origins' | 'desk', string> &
  Flags<'summary' | 'send', true>

export async function writeReport(call: Call<ReportOptions>): Promise<Exit> {
  const { options, env } = call
  if (options.summary === true) return writeSummary(call)
  const { path, target } = await htmlTarget(options.to, env)
  const domains = readNames(options.domains ?? '')
  const slice = sliceOf(options)
  const { config, mill, origins, today } = await openReport(call)
  const found = await readSnapshot(mill.db, { origins, role: null, slice }, (trx) =>
    readReport(trx, { slice, domains, today, config }),
  )
  await writeTarget(target, [renderPage(found, new Date())])
  if (options.json === true) printJson({ file: path, sent: false })
  say(`the report is in ${path}`)
  // Warns about mistyped tags, because they would appear as tags without ranks.
  for (const hint of [await hintLabels(mill.db, slice), await hintOrigins(mill.db, origins)]) {
    if (hint !== null) say(hint)
  }
  return exits.done
}

async function openReport({ options, env, closers }: Call<ReportOptions>) {
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'report', reading: true, behind: true })
  const origins =
    options.origins === undefined
      ? await firstOrigins(mill.db, { databaseUrl: config.databaseUrl, report: say })
      : readOrigins(options.origins)
  return { config, mill, origins, today: localDate(config.zone, new Date()) }
}

async function htmlTarget(to: string | undefined, env: Call<ReportOptions>['env']) {
  if (to === undefined) throw new Misuse('expected --to FILE, got nothing')
  const path = callerPath(env, to)
  const target = await findTarget(path, to)
  const promised = promisedFormat(target)
  if (promised !== null && promised !== 'html') {
    throw new Misuse(`expected --to with an HTML file, got ${to}; choose a name that ends in .html`)
  }
  return { path, target }
}

async function writeSummary(call: Call<ReportOptions>): Promise<Exit> {
  const { options, env } = call
  const { to, send, desk = 'http://127.0.0.1:8750' } = options
  if (to === undefined && send !== true) {
    throw new Misuse('expected --to or --send with --summary, got neither')
  }
  const { config, mill, origins, today } = await openReport(call)
  const read = <T>(from: (db: Database) => Promise<T>) =>
    readSnapshot(mill.db, { origins, role: null }, from)
  const forecast = () => withinTime(mill.db, forecastMs, (db) => lookAhead({ ...mill, db }))
  const found = await readOverview({ mill, today, answers: read, books: read, forecast })
  const summary = summarise(found, { today, zone: config.zone })
  const file = to === undefined ? null : await htmlTarget(to, env)
  if (file !== null) {
    await writeTarget(file.target, [renderSummary(summary, desk)])
    say(`the summary is in ${file.path}`)
  }
  if (send === true) {
    await sendSummary(summary, { webhook: config.webhook, desk })
    say('the summary was sent to the webhook')
  }
  if (options.json === true) printJson({ file: file?.path ?? null, sent: send === true })
  return exits.done
}

const forecastMs = 10_000

/** Throws if there are too many domains, because a silently omitted domain would seem not to rank. */
function readNames(typed: string): readonly string[] {
  const domains = [...new Set(typed.split(',').map(siteName))].filter((name) => name !== '')
  if (domains.length <= mostDomains) return domains
  throw new Misuse(
    `expected --domains to name at most ${mostDomains} domains, got ${domains.length}; leave some out, or write a second report`,
  )
}

/** By default, the report covers all queries. */
function sliceOf(options: ReportOptions): Slice {
  const given = [...sliceFlags, ...spanFlags].map((flag) => {
    return [flag, [options[flag] ?? []].flat().filter((one) => one !== '*')] as const
  })
  return readSlice(new Map(given))
}
