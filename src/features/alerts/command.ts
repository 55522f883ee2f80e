// The alerts command: parses and loads the rules file, and shows alerts.

import { npmRun } from '../../base/cli/commands.ts'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isDomain, siteName } from '../../base/address.ts'
import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { countFlag } from '../../base/cli/flags.ts'
import { count, formatTable } from '../../base/cli/text.ts'
import { callerPath, readConfig } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { changing } from '../../base/database/reader-role.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { workplace } from '../../base/root.ts'
import { readSwitch } from '../../base/settings.ts'
import { knownList } from '../../core/enqueue/order.ts'
import { nameOfList } from '../../core/lists/files.ts'
import { readRows, type TableRow } from '../../core/lists/table.ts'
import { openMill } from '../../core/mill.ts'
import { readOwnDomains } from '../analysis/domains.ts'
import {
  alertKinds,
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

/** Reminds the user to load the rules in the file. Until then, these rules have no effect. */
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
    print(`${count(rules.length, 'rule')} in force${changes.length === 0 ? ' (unchanged)' : ''}`)
  }
  return exits.done
}

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
  if (base === null) return `none, because this alert compares the shares on ${before} and ${date}`
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

const alertColumns = [
  'alert',
  'what',
  'threshold',
  'direction',
  'list',
  'tag',
  'domain',
  'rival',
  'feature',
  'confirm',
  'on',
] as const

type Column = (typeof alertColumns)[number]

const positions = { shape: /^\d+$/, expected: 'a whole number of positions from 1 to 100' }
const top = { shape: /^\d+$/, expected: 'the last position that counts as top, from 1 to 100' }
const percent = {
  shape: /^\d+(\.\d+)?(?: ?%)?$/,
  expected: 'a percentage of the share, above 0 and at most 100',
}

/** For each kind of alert: its optional columns, its threshold, and whether `*` is a valid domain. */
const kinds: Record<
  AlertRule['what'],
  {
    readonly columns: readonly Column[]
    readonly threshold?: typeof positions
    readonly anybody?: true
  }
> = {
  entered: { columns: ['domain'], anybody: true },
  left: { columns: ['domain'], anybody: true },
  moved: { columns: ['threshold', 'domain', 'direction'], threshold: positions, anybody: true },
  crossed: { columns: ['threshold', 'domain', 'direction'], threshold: top, anybody: true },
  share_fell: { columns: ['threshold', 'domain'], threshold: percent },
  rival_passed: { columns: ['domain', 'rival'] },
  new_feature: { columns: ['feature'] },
  wrong_page: { columns: ['domain'] },
}

interface KnownNames {
  /** Returns the name of the list that a line refers to; null if there is no such list. */
  readonly listOf: (typed: string) => string | null
  /** Our sites and rivals' sites that are folders or groups of hosts. Only these sites have separate figures. */
  readonly sites: ReadonlySet<string>
}

/** Parses the enabled rules in a file. If there are problems, a single error lists all of them. */
export function readAlertFile({
  rows,
  shown,
  ...known
}: KnownNames & {
  readonly rows: readonly TableRow[]
  readonly shown: string
}): readonly AlertRule[] {
  const problems = headerProblems(rows).map((problem) => `${shown}:1: ${problem}`)
  const lines = new Map<string, number>()
  const rules = rows.flatMap(({ line, fields, problem }) => {
    const complain = (text: string) => problems.push(`${shown}:${line}: ${text}`)
    if (problem !== null) {
      complain(`${problem}; put quotes around a cell that contains a comma`)
      return []
    }
    const cell = (column: Column) => fields.get(column) ?? ''
    const refuse = (column: Column, expected: string) => {
      const got = cell(column) === '' ? 'nothing' : JSON.stringify(cell(column))
      complain(`${column}: expected ${expected}, got ${got}`)
    }
    const { rule, on } = readRule({ cell, refuse }, known)
    const twin = lines.get(rule.name)
    if (twin !== undefined && rule.name !== '') {
      refuse('alert', `a name that is not already used on line ${twin}`)
    }
    lines.set(rule.name, twin ?? line)
    return on ? [rule] : []
  })
  if (problems.length > 0) throw new Misuse(problems.join('\n'))
  return rules
}

interface RuleLine {
  readonly cell: (column: Column) => string
  readonly refuse: (column: Column, expected: string) => void
}

function readRule({ cell, refuse }: RuleLine, { listOf, sites }: KnownNames) {
  type Parse<T> = (text: string) => T | null | undefined
  const read = <T>(column: Column, parse: Parse<T>, expected: string) => {
    const value = cell(column) === '' ? null : (parse(cell(column)) ?? undefined)
    if (value === undefined) refuse(column, expected)
    return value ?? null
  }
  const need = <T>(column: Column, parse: Parse<T>, expected: string) => {
    if (cell(column) === '') refuse(column, expected)
    return read(column, parse, expected)
  }
  const siteOf = (anybody: boolean) => (text: string) => {
    if (text === '*') return anybody ? text : null
    const domain = siteName(text)
    return isDomain(domain) || sites.has(domain) ? domain : null
  }
  need('alert', (text) => /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,59}$/u.test(text) || null, nameShape)
  const kindOf = (text: string) => {
    return alertKinds.find((one) => one === text.toLowerCase().replaceAll(' ', '_'))
  }
  const what = need('what', kindOf, `one of ${alertKinds.join(', ')}`)
  const { threshold, anybody = false } = what === null ? {} : kinds[what]
  const limitOf = (text: string) => {
    const limit = threshold?.shape.test(text) === true ? Number.parseFloat(text) : 0
    return limit > 0 && limit <= 100 ? limit : null
  }
  const wayOf = (text: string) =>
    (['up', 'down'] as const).find((one) => one === text.toLowerCase())
  const confirmOf = (text: string) => (/^[1-7]$/.test(text) ? Number(text) : null)
  const rule: AlertRule = {
    name: cell('alert'),
    what: what ?? 'left',
    threshold: threshold === undefined ? null : need('threshold', limitOf, threshold.expected),
    direction: read('direction', wayOf, '"up", "down" or nothing for both'),
    list: read('list', listOf, 'the name of an enqueued list, or the path of a list file'),
    tag: cell('tag') || null,
    domain: read('domain', siteOf(anybody), siteShape),
    rival: read('rival', siteOf(true), siteShape),
    feature: cell('feature') || null,
    confirm: read('confirm', confirmOf, 'a number of consecutive answers, from 1 to 7') ?? 1,
  }
  if (what !== null) refuseOthers(what, { cell, refuse })
  return { rule, on: read('on', readSwitch, '"yes" or "no"') ?? true }
}

const nameShape = 'a short name of letters, digits, spaces, ".", "_" or "-"'
const siteShape = `a domain like example.com, without https://, or a folder or *.domain that ${npmRun('domains')} lists`

/** Reports cells that this kind of alert does not use, and cells that contradict each other. */
function refuseOthers(what: AlertRule['what'], { cell, refuse }: RuleLine): void {
  for (const column of ['threshold', 'direction', 'domain', 'rival', 'feature'] as const) {
    if (!kinds[what].columns.includes(column) && cell(column) !== '') {
      refuse(column, `an empty cell for ${what}`)
    }
  }
  if (what === 'rival_passed' && cell('rival') === '') {
    refuse('rival', 'the domain that overtakes ours, or * for any domain')
  }
  if (what === 'share_fell' && cell('list') !== '' && cell('tag') !== '') {
    refuse('tag', 'an empty cell for a rule about a list')
  }
}

function headerProblems(rows: readonly TableRow[]): readonly string[] {
  const names = [...(rows[0]?.fields.keys() ?? [])]
  if (names.length === 0) return []
  const unknown = names.filter((name) => !alertColumns.some((column) => column === name))
  const missing = (['alert', 'what'] as const).filter((column) => !names.includes(column))
  return [
    ...unknown.map((name) => `${name}: expected one of the columns ${alertColumns.join(', ')}`),
    ...missing.map((name) => `${name}: this column is missing`),
  ]
}
