// Runs the `domains` command: lists and changes our own and rivals' domains, from flags or a file.
import { npmRun } from '../../base/cli/commands.ts'
import { join } from 'node:path'
import { isSite, siteName } from '../../base/address.ts'
import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { formatTable } from '../../base/cli/text.ts'
import { callerPath, readConfig } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { only } from '../../base/database/sql-file.ts'
import { changing } from '../../base/database/reader-role.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { workplace } from '../../base/root.ts'
import { readSwitch } from '../../base/settings.ts'
import { isDay, localDate } from '../../base/time/zone.ts'
import { readTable, type TableRow } from '../../core/lists/table.ts'
import { openMill } from '../../core/mill.ts'
import {
  changeDomains,
  type DomainFile,
  endDomain,
  loadDomains,
  type OwnDomain,
  putDomain,
  readOwnDomains,
  undoDomains,
} from './domains.ts'

interface DomainFlags {
  readonly label?: string
  readonly brand?: string
  readonly rival?: true
  readonly since?: string
  readonly until?: string
  readonly on?: string
}

const shipped = 'inputs/config/domains.csv'

/** Shows or changes the tables of domains. No other command writes these tables. */
export async function keepDomains(call: Call<DomainFlags>): Promise<Exit> {
  const { options, args, env, closers } = call
  const [action = 'list', subject] = args
  const config = readConfig(env)
  const today = localDate(config.zone, new Date())
  // Validates the input before opening anything, so that invalid input changes nothing.
  const work = await prepare(call, today)
  const open = { config, closers, say, name: 'domains', connections: 1 }
  const mill = await openMill(work === null ? { ...open, reading: true } : open)
  if (work === null) return showDomains(mill.db, options.json === true)
  const changes = await changing('our domains', () => changeDomains(mill.db, action, work))
  if (options.json === true) printJson({ changes })
  else if (changes.length === 0)
    print(`nothing was changed${action === 'end' ? `; ${subject} is not ours on that day` : ''}`)
  else for (const { change: kind, ...line } of changes) print(`${kind}  ${describe(line)}`)
  return exits.done
}

/** Prepares an action that changes a table, or returns null for a read-only action. */
async function prepare(
  { options, args, env }: Call<DomainFlags>,
  today: string,
): Promise<Parameters<typeof changeDomains>[2] | null> {
  const [action = 'list', subject] = args
  switch (action) {
    case 'list':
      return null
    case 'undo':
      return undoDomains
    case 'load': {
      const path = subject === undefined ? join(workplace, shipped) : callerPath(env, subject)
      const file = await readFile(path, subject ?? shipped)
      if (file.lines.length > 0) return (trx) => loadDomains(trx, { ...file, today })
      throw new Misuse(
        `expected ${subject ?? shipped} to contain a domain, got none; to set a domain's last day, run: ${npmRun('domains --')} end DOMAIN`,
      )
    }
    case 'set': {
      const line = readOne(subject, options)
      return (trx) => putDomain(trx, line)
    }
    case 'end': {
      const { domain, until } = readOne(subject, { until: options.on ?? today })
      return (trx) => endDomain(trx, { domain, on: until ?? today })
    }
    default:
      throw new Misuse(`expected list, load, set, end or undo, got ${JSON.stringify(action)}`)
  }
}

/** Parses the flags by the same rules as a line in a file. */
function readOne(domain = '', flags: DomainFlags): OwnDomain {
  const { label = '', brand = '', since = '', until = '' } = flags
  const rival = flags.rival === true ? 'yes' : ''
  const fields = new Map(Object.entries({ domain, label, brand, since, until, rival }))
  return only(readDomains([{ line: 1, fields }], 'command line'))
}

async function showDomains(db: Database, json: boolean): Promise<Exit> {
  const domains = await readOwnDomains(db)
  if (json) printJson({ domains })
  else if (domains.length === 0) {
    print(
      `no domain is marked as ours yet; to mark one: ${npmRun('domains --')} set example.com --label "Example"`,
    )
  } else {
    const heads = ['domain', 'label', 'brand', 'whose', 'since', 'until']
    const rows = domains.map(({ domain, label, brand, since, until, rival }) => {
      return [domain, label, brand ?? label, rival ? "a rival's" : 'ours', since, until]
    })
    print(formatTable(heads, rows, { right: [] }))
  }
  return exits.done
}

function describe({ domain, label, brand, since, until, rival }: OwnDomain): string {
  const whose = `${brand === null ? '' : ` of ${brand}`}${rival ? ", a rival's" : ''}`
  return `${domain} as ${label}${whose}, ${since === null ? 'from the beginning' : `from ${since}`}${until === null ? '' : ` until ${until}`}`
}

/** Loads the domains from a file if the database contains no domains yet. Used by the demo. */
export async function loadFirstDomains(
  db: Database,
  { path, shown, today }: { readonly path: string; readonly shown: string; readonly today: string },
): Promise<void> {
  if ((await readOwnDomains(db)).length > 0) return
  const file = await readFile(path, shown)
  await changeDomains(db, 'demo', (trx) => loadDomains(trx, { ...file, today }))
}

type NamedRow = Pick<TableRow, 'line' | 'fields'>

/** Reads a domains file. If an optional column is missing, the stored values stay unchanged. */
async function readFile(path: string, shown: string): Promise<DomainFile> {
  const rows = await readTable(path, shown)
  const has = (name: string) => rows.some(({ fields }) => fields.has(name))
  return { lines: readDomains(rows, shown), brands: has('brand'), rivals: has('rival') }
}

type Complain = (text: string) => void

function readDate(fields: NamedRow['fields'], name: string, complain: Complain): string | null {
  const text = fields.get(name) ?? ''
  if (text === '') return null
  if (!isDay(text)) complain(`expected ${name} to be a date like 2026-11-01 or empty, got ${text}`)
  return text
}

function readLine(fields: NamedRow['fields'], complain: Complain): OwnDomain {
  const typed = fields.get('domain') ?? ''
  const domain = siteName(typed)
  if (!isSite(domain)) {
    complain(
      `expected a domain like example.com, *.example.com or example.com/folder, got ${JSON.stringify(typed)}; leave out https://`,
    )
  }
  const label = fields.get('label') ?? ''
  const brand = fields.get('brand') ?? ''
  const since = readDate(fields, 'since', complain)
  const until = readDate(fields, 'until', complain)
  if (since !== null && until !== null && until < since) {
    complain(`expected until to be ${since} or later, got ${until}`)
  }
  const rival = readSwitch(fields.get('rival') || 'no')
  if (rival === null) complain(`expected rival to be yes, no or empty, got ${fields.get('rival')}`)
  // Without a label, the domain is displayed as it was typed.
  const written = domain.includes('/') ? domain : typed.toLowerCase().replace(/^www\./, '')
  return {
    domain,
    label: label === '' ? written : label,
    brand: brand === '' ? null : brand,
    since,
    until,
    rival: rival === true,
  }
}

/** Parses the lines of `inputs/config/domains.csv`, and reports all problems at once. */
export function readDomains(rows: readonly NamedRow[], shown: string): readonly OwnDomain[] {
  const problems: string[] = []
  const domains = rows.map(({ line, fields }) =>
    readLine(fields, (text) => problems.push(`${shown}:${line}: ${text}`)),
  )
  const seen = new Set<string>()
  for (const [index, { domain, since }] of domains.entries()) {
    const key = `${domain} ${since ?? ''}`
    if (seen.has(key)) {
      problems.push(
        `${shown}:${rows[index]?.line}: expected one line for ${domain} from ${since ?? 'the beginning'}, got a second one`,
      )
    }
    seen.add(key)
  }
  if (problems.length > 0) throw new Misuse(problems.join('\n'))
  return domains
}
