import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { listName } from '../../lists/files.ts'
import { readRows, type TableRow } from '../../lists/table.ts'
import { callerPath, readConfig } from '../../shared/config.ts'
import { exits, Misuse, type Exit } from '../../shared/errors.ts'
import { workplace } from '../../shared/root.ts'
import { print, printJson, say, type Call } from '../../shared/terminal/command.ts'
import { countFlag } from '../../shared/terminal/flags.ts'
import { changing } from '../../store/analysis/analyst.ts'
import { readOwnDomains } from '../../store/analysis/domain-changes.ts'
import type { Database } from '../../store/database.ts'
import { readAlertRules, replaceAlertRules } from '../../store/nights/alert-rules.ts'
import { listAlerts } from '../../store/operator/alerts.ts'
import { knownList } from '../../store/planning/lists.ts'
import { openMill } from '../mill/mill.ts'
import { readAlertFile } from './file.ts'
import { formatAlert, formatAlerts, formatRules } from './screen.ts'

/** What can be typed after `npm run alerts -- <action>`. */
export interface AlertFlags {
  readonly standing?: true
  readonly rule?: string
  readonly limit: string
  readonly json?: true
}

const shipped = 'inputs/config/alerts.csv'

/** Shows what rules have raised, or puts rules in force. */
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
  if (json === true) printJson({ alerts })
  else if (id === null) print(formatAlerts(alerts))
  else print(alerts.map(formatAlert).join('\n'))
  if (id !== null && alerts.length === 0) {
    throw new Misuse(`expected the number of an alert, got ${id}; npm run alerts shows them`)
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

/** Rules that stand in the file alone raise nothing. */
async function hintLoad(db: Database): Promise<void> {
  if ((await readAlertRules(db)).length > 0 || !existsSync(join(workplace, shipped))) return
  const rows = await readRows(join(workplace, shipped), shipped)
  if (rows.length > 0) say(`no rule of ${shipped} is in force: npm run alerts -- load`)
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
  const changes = await changing('rules of alerts', () => replaceAlertRules(db, rules))
  if (call.options.json === true) printJson({ rules: rules.length, changes })
  else {
    for (const { change, name } of changes) print(`${change}  ${name}`)
    print(`${rules.length} in force${changes.length === 0 ? ', as before' : ''}`)
  }
  return exits.done
}

/** The lists that lines name: by the name under which they were enqueued, or by the path of their file. */
async function findLists(
  db: Database,
  rows: readonly TableRow[],
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (const { fields } of rows) {
    const typed = fields.get('list') ?? ''
    if (typed === '' || found.has(typed)) continue
    const name = listName(typed)
    if ((await knownList(db, typed)) !== undefined) found.set(typed, typed)
    else if ((await knownList(db, name)) !== undefined) found.set(typed, name)
    else if (existsSync(resolve(workplace, typed))) found.set(typed, name)
  }
  return found
}
