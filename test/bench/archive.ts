// Cost of the archive: thirty nights generated with SQL are archived, queried and restored, each by the command that a
// user types, and compared with a plain COPY of the same rows. Autovacuum is off, so that only the requested work is
// counted.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { processEnvironment } from '../../src/base/config.ts'
import { root } from '../../src/base/root.ts'
import { copyOut } from '../../src/features/archive/copy.ts'
import { archivedTables } from '../../src/features/archive/days.ts'
import { openPool, type Pool } from '../../src/base/database/database.ts'
import { measureParts, type PartCost } from './archive-parts.ts'
import { fillArchived, nights } from './archive-nights.ts'
import type { Ground } from './ground.ts'
import { scriptOf } from './memory.ts'
import { startMeter } from './meter.ts'

/** Mean number of results per answer in the generated history. */
const resultsOfAnswer = 9.7

/** Seconds of CPU and wall time; peak memory of the command in megabytes. */
interface Cost {
  readonly cpu_s: number
  readonly postgres_s: number
  readonly seconds: number
  readonly peak_mb?: number
}

interface Question {
  readonly in_tables: Cost
  readonly with_archive: Cost
  /** CPU with the archive, divided by CPU without it. */
  readonly times: number
}

/** The measured figures. */
export interface ArchiveFigures {
  readonly results: number
  readonly rows_that_leave: number
  readonly copy_of_what_leaves: Cost & { readonly mb: number }
  readonly archive: Cost
  /** CPU of the plain COPY divided by that of archiving; 1 would be equal. */
  readonly speed_of_a_copy: number
  readonly check: Cost
  readonly questions: Readonly<Record<string, Question>>
  readonly back: Cost
  /** Figures for archiving again, without the startup of a command. */
  readonly parts: Readonly<Record<string, PartCost>>
}

const questions = {
  winners: 'winners',
  'results of each day': 'select run_date, count(*) from analysis.results group by run_date',
  'every result': 'select count(title) from analysis.results',
}

/** Fills a database, and archives, queries and restores it. */
export async function benchArchive(
  { freshUrl, postgres }: Pick<Ground, 'freshUrl' | 'postgres'>,
  { rows, say }: { readonly rows: number; readonly say: (line: string) => void },
): Promise<ArchiveFigures> {
  const url = await freshUrl()
  const pool = openPool(url, { name: 'bench', max: 2 })
  const home = mkdtempSync(join(tmpdir(), 'querymill-bench-archive-'))
  try {
    const results = await fillArchived(
      pool,
      Math.max(1, Math.round(rows / nights / resultsOfAnswer)),
    )
    say(`${results} results of ${nights} nights are there`)
    const bench = new Bench({ url, server: postgres.pid, home, say })
    const copy = await bench.copy(pool)
    const before = await bench.ask([])
    const archive = await bench.run('archive', [
      '--older',
      '1d',
      '--to',
      join(home, 'archive'),
      '--yes',
    ])
    const check = await bench.run('archive', ['--check'])
    const after = await bench.ask(['--with-archive'])
    const back = await bench.run('archive', ['--back', '2000-01-01..2099-12-31', '--yes'])
    await pool.query('vacuum analyze')
    const parts = await measureParts(pool, { home, server: postgres.pid })
    const { rows: leaving, ...copied } = copy
    return {
      results,
      rows_that_leave: leaving,
      copy_of_what_leaves: copied,
      archive,
      speed_of_a_copy: rounded(cpuOf(copied) / cpuOf(archive)),
      check,
      questions: Object.fromEntries(
        Object.keys(questions).map((name, at) => [name, sideBySide(before[at], after[at])]),
      ),
      back,
      parts,
    }
  } finally {
    await pool.end()
    rmSync(home, { recursive: true, force: true })
  }
}

interface Place {
  readonly url: string
  readonly server: number
  readonly home: string
  readonly say: (line: string) => void
}

class Bench {
  readonly #place: Place

  constructor(place: Place) {
    this.#place = place
  }

  /** Reads the rows to be archived, and discards them. */
  async copy(pool: Pool): Promise<Cost & { readonly rows: number; readonly mb: number }> {
    const client = await pool.connect()
    const read = startMeter({ postgres: this.#place.server })
    let rows = 0
    let bytes = 0
    for (const { name, kind } of archivedTables) {
      if (kind !== 'moved') continue
      for await (const batch of copyOut(client, `copy ${name} to stdout`)) {
        rows += batch.rows
        bytes += batch.bytes.length
      }
    }
    const { node, postgres, seconds } = read()
    client.release()
    return { ...costOf({ command: node, postgres, seconds }), rows, mb: Math.round(bytes / 1e6) }
  }

  async ask(flags: readonly string[]): Promise<readonly Cost[]> {
    const costs: Cost[] = []
    for (const text of Object.values(questions)) {
      costs.push(await this.run('sql', [...flags, text, '--json']))
    }
    return costs
  }

  /** Runs a command as typed, in a separate process that reports its resource use at the end. */
  async run(name: 'archive' | 'sql', typed: readonly string[]): Promise<Cost> {
    const told = join(this.#place.home, 'told.json')
    const telling = `import { writeFileSync } from 'node:fs'; process.on('exit', () => writeFileSync(process.env.BENCH_TOLD, JSON.stringify(process.resourceUsage())))`
    const [, ...args] = scriptOf(name)
    const hook = ['--import', `data:text/javascript,${encodeURIComponent(telling)}`]
    const place = { DATABASE_URL: this.#place.url, MILL_HOME: this.#place.home }
    const read = startMeter({ postgres: this.#place.server })
    const child = spawn(process.execPath, [...hook, ...args, ...typed], {
      cwd: root,
      env: { ...processEnvironment(), ...place, BENCH_TOLD: told },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    child.stderr.on('data', (piece: Buffer) => (said = piece.toString()))
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`expected npm run ${name} to end with 0, got ${said}`)
    const { postgres, seconds } = read()
    const used = JSON.parse(readFileSync(told, 'utf8')) as NodeJS.ResourceUsage
    const command = used.userCPUTime + used.systemCPUTime
    const cost = costOf({ command, postgres, seconds })
    this.#place.say(`${name} ${typed.join(' ')}: ${JSON.stringify(cost)}`)
    return { ...cost, peak_mb: Math.round(used.maxRSS / 1024) }
  }
}

function costOf(us: { command: number; postgres: number; seconds: number }): Cost {
  return {
    cpu_s: rounded(us.command / 1e6),
    postgres_s: rounded(us.postgres / 1e6),
    seconds: rounded(us.seconds),
  }
}

function sideBySide(before: Cost | undefined, after: Cost | undefined): Question {
  if (before === undefined || after === undefined) throw new Error('expected two costs')
  return { in_tables: before, with_archive: after, times: rounded(cpuOf(after) / cpuOf(before)) }
}

function cpuOf({ cpu_s: command, postgres_s: postgres }: Cost): number {
  return command + postgres
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
