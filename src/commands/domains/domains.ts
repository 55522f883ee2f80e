import { join } from 'node:path'
import { readTable } from '../../lists/table.ts'
import { callerPath, readConfig } from '../../shared/config.ts'
import { exits, Misuse, type Exit } from '../../shared/errors.ts'
import { workplace } from '../../shared/root.ts'
import { print, printJson, say, type Call } from '../../shared/terminal/command.ts'
import { formatTable } from '../../shared/terminal/table.ts'
import { localDate } from '../../shared/time/zone.ts'
import { changing } from '../../store/analysis/analyst.ts'
import {
  changeDomains,
  endDomain,
  putDomain,
  readOwnDomains,
  undoDomains,
} from '../../store/analysis/domain-changes.ts'
import { loadDomains, type OwnDomain } from '../../store/analysis/domains.ts'
import type { Database } from '../../store/database.ts'
import { openMill } from '../mill/mill.ts'
import { spokenOf, readDomains } from './file.ts'

/** What can be typed after `npm run domains -- <action>`. */
export interface DomainFlags {
  readonly label?: string
  readonly brand?: string
  readonly rival?: true
  readonly since?: string
  readonly until?: string
  readonly on?: string
  readonly json?: true
}

const shipped = 'inputs/config/domains.csv'

/** Shows or changes which domains are ours, and which are rivals'; nothing else writes these tables. */
export async function keepDomains(call: Call<DomainFlags>): Promise<Exit> {
  const { options, args, env, closers } = call
  const [action = 'list', subject] = args
  const config = readConfig(env)
  const today = localDate(config.zone, new Date())
  // Read and judged before anything is opened: a mistake changes nothing.
  const work = await prepare(call, today)
  const open = { config, closers, say, name: 'domains', connections: 1 }
  const mill = await openMill(work === null ? { ...open, reading: true } : open)
  if (work === null) return showDomains(mill.db, options.json === true)
  const changes = await changing('our domains', () => changeDomains(mill.db, action, work))
  if (options.json === true) printJson({ changes })
  else if (changes.length === 0)
    print(`nothing changed${action === 'end' ? `: ${subject} is not ours on that day` : ''}`)
  else for (const { change: kind, ...line } of changes) print(`${kind}  ${describe(line)}`)
  return exits.done
}

type Work = Parameters<typeof changeDomains>[2]

/** What an action does to the table; null for one that only looks. */
async function prepare(
  { options, args, env }: Call<DomainFlags>,
  today: string,
): Promise<Work | null> {
  const [action = 'list', subject] = args
  switch (action) {
    case 'list':
      return null
    case 'undo':
      return undoDomains
    case 'load': {
      const path = subject === undefined ? join(workplace, shipped) : callerPath(env, subject)
      const rows = await readTable(path, subject ?? shipped)
      const lines = readDomains(rows, subject ?? shipped)
      const loading = { lines, today, ...spokenOf(rows) }
      if (lines.length > 0) return (trx) => loadDomains(trx, loading)
      throw new Misuse(
        `expected ${subject ?? shipped} to name a domain, got none; npm run domains -- end DOMAIN ends one`,
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

/** What was typed goes by the same rules as a line of a file. */
function readOne(domain: string | undefined, flags: DomainFlags): OwnDomain {
  const { label = '', brand = '', since = '', until = '' } = flags
  const rival = flags.rival === true ? 'yes' : ''
  const fields = new Map(
    Object.entries({ domain: domain ?? '', label, brand, since, until, rival }),
  )
  const [line] = readDomains([{ line: 1, fields }], 'command line')
  if (line === undefined) throw new Error('expected a line, got none')
  return line
}

async function showDomains(db: Database, json: boolean): Promise<Exit> {
  const domains = await readOwnDomains(db)
  if (json) printJson({ domains })
  else if (domains.length === 0) {
    print('no domain is ours yet; npm run domains -- set example.com --label "Example"')
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

/** Makes the domains of a file ours where none is: for a demonstration. */
export async function loadFirstDomains(
  db: Database,
  { path, shown, today }: { readonly path: string; readonly shown: string; readonly today: string },
): Promise<void> {
  if ((await readOwnDomains(db)).length > 0) return
  const rows = await readTable(path, shown)
  const loading = { lines: readDomains(rows, shown), today, ...spokenOf(rows) }
  await changeDomains(db, 'demo', (trx) => loadDomains(trx, loading))
}
