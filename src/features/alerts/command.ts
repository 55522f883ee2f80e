// The alerts command: loads rules from a file, and shows alerts.

import { npmRun } from '../../base/cli/commands.ts'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { countFlag } from '../../base/cli/flags.ts'
import { count, formatTable } from '../../base/cli/text.ts'
import { callerPath, readConfig } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { changing } from '../../base/database/reader-role.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { workplace } from '../../base/root.ts'
import { knownList } from '../../core/enqueue/order.ts'
import { nameOfList } from '../../core/lists/files.ts'
import { readRows, type TableRow } from '../../core/lists/table.ts'
import { openMill } from '../../core/mill.ts'
import { readOwnDomains } from '../analysis/domains.ts'
import { alertColumns, readAlertFile } from './rules.ts'
import {
  type AlertRow,
  type AlertRule,
  listAlerts,
  readAlertRules,
  readHeadlines,
  replaceAlertRules,
} from './statements.ts'

interface AlertFlags {
  readonly standing?: true
  readonly rule?: string
  readonly limit: string
}

const shipped = 'inputs/config/alerts.csv'

export async function runAlerts(call: Call<AlertFlags>): Promise<Exit> {
  const { args } = call
  const [action = 'list', subject] = args
  switch (action) {
    case 'list':
      return showAlerts(call, null)
    case 'show':
      return showAlerts(call, countFlag('id', subject ?? ''))
    case 'rules':
      return showRules(call)
    case 'load':
      return loadRules(call, subject)
    default:
      throw new Misuse(`expected list, show, rules or load, got ${JSON.stringify(action)}`)
  }
}

async function open({ env, closers }: Call<AlertFlags>, reading: boolean): Promise<Database> {
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'alerts', connections: 1, reading })
  return mill.db
}

async function showAlerts(call: Call<AlertFlags>, id: number | null): Promise<Exit> {
  const { rule = null, standing = false, json } = call.options
  const limit = countFlag('limit', call.options.limit)
  const db = await open(call, true)
  const alerts = await listAlerts(db, { id, rule, standing, limit })
  const nights = id === null ? await readHeadlines(db, 5) : []
  if (json === true) printJson({ alerts, nights })
  else if (id === null) {
    print(formatAlerts(alerts))
    if (nights.length > 0) print(formatHeadlines(nights))
  } else print(alerts.map(formatAlert).join('\n'))
  if (id !== null && alerts.length === 0) {
    throw new Misuse(`expected an alert number, got ${id}; ${npmRun('alerts')} lists the alerts`)
  }
  await hintLoad(db)
  return exits.done
}

async function showRules(call: Call<AlertFlags>): Promise<Exit> {
  const db = await open(call, true)
  const rules = await readAlertRules(db)
  if (call.options.json === true) printJson({ rules })
  else print(formatRules(rules))
  await hintLoad(db)
  return exits.done
}

/** Reminds the user to load the rules in the file, because the file has no effect until its rules are loaded. */
async function hintLoad(db: Database): Promise<void> {
  if ((await readAlertRules(db)).length > 0 || !existsSync(join(workplace, shipped))) return
  const rows = await readRows(join(workplace, shipped), shipped)
  if (rows.length > 0)
    say(`no rules from ${shipped} are in force; to load them: ${npmRun('alerts --')} load`)
}

async function loadRules(call: Call<AlertFlags>, typed: string | undefined): Promise<Exit> {
  const path = typed === undefined ? join(workplace, shipped) : callerPath(call.env, typed)
  const shown = typed ?? shipped
  const rows = await readRows(path, shown)
  const db = await open(call, false)
  const lists = await findLists(db, rows)
  const sites = new Set((await readOwnDomains(db)).map(({ domain }) => domain))
  const listOf = (list: string) => lists.get(list) ?? null
  const rules = readAlertFile({ rows, shown, listOf, sites })
  const changes = await changing('alert rules', () => replaceAlertRules(db, rules))
  if (call.options.json === true) printJson({ rules: rules.length, changes })
  else {
    for (const { change, name } of changes) print(`${change}  ${name}`)
    print(`${count(rules.length, 'rule')} in force${changes.length === 0 ? ', as before' : ''}`)
  }
  return exits.done
}

/** Finds the lists that rules refer to. A rule may give a list's name or its file's path. */
async function findLists(db: Database, rows: readonly TableRow[]) {
  const found = new Map<string, string>()
  for (const typed of new Set(rows.map(({ fields }) => fields.get('list') ?? ''))) {
    if (typed === '') continue
    const name = nameOfList(typed)
    if ((await knownList(db, typed)) !== undefined) found.set(typed, typed)
    else if ((await knownList(db, name)) !== undefined || existsSync(resolve(workplace, typed))) {
      found.set(typed, name)
    }
  }
  return found
}

function formatAlerts(alerts: readonly AlertRow[]): string {
  if (alerts.length === 0)
    return `No alerts so far; ${npmRun('alerts --')} rules shows the rules in force.`
  const rows = alerts.map((one) => [one.id, one.run_date, one.state, one.alert, one.text])
  const heads = ['id', 'night', 'state', 'alert', 'text']
  const table = formatTable(heads, rows, { right: ['id'], widest: 160 })
  return `${table}\n${npmRun('alerts --')} show ID shows the evidence`
}

function formatHeadlines(nights: Awaited<ReturnType<typeof readHeadlines>>): string {
  const rows = nights.map(({ run, severity, headline }) => [run, severity, headline])
  return formatTable(['run', 'severity', 'summary of the night'], rows, { widest: 160 })
}

function formatAlert(alert: AlertRow): string {
  const rows = [
    ['alert', `${alert.alert} (${alert.what})`],
    ['state', stateOf(alert)],
    ['text', alert.text],
    ['answers', answersOf(alert)],
    ['question', alert.question],
  ]
  return formatTable(['', ''], rows, { widest: null }).trim()
}

function stateOf(alert: AlertRow): string {
  const { state, recovered_run_date: date, recovered_search_id: search } = alert
  if (state === 'withdrawn') return `withdrawn because ${alert.withdrawn_because}`
  if (state === 'standing') return state
  return `recovered on ${date}${search === null ? '' : ` with answer ${search}`}`
}

function answersOf(alert: AlertRow): string {
  const { base_search_id: base, search_id: search, base_run_date: before, run_date: date } = alert
  if (base === null) return `none for this alert; it compares the shares of ${before} and ${date}`
  return `${base} (${before}), ${search} (${date})`
}

function formatRules(rules: readonly AlertRule[]): string {
  if (rules.length === 0)
    return `No rules are in force; to load inputs/config/alerts.csv: ${npmRun('alerts --')} load`
  const heads = alertColumns.filter((column) => column !== 'on')
  const rows = rules.map((rule) =>
    heads.map((column) => (column === 'alert' ? rule.name : rule[column])),
  )
  return formatTable(heads, rows, { right: ['threshold', 'confirm'] })
}
