// Cost of the desk: each page over a filled history, with the CPU of the desk and of its statements; fifty open live
// pages; and memory afterwards.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { formatTable } from '../../src/base/cli/text.ts'
import { root } from '../../src/base/root.ts'
import { pause } from '../../src/base/waiting.ts'
import { finishDays } from '../../src/core/nights/finish.ts'
import { openDatabase, openPool, type Pool } from '../../src/base/database/database.ts'
import { makeHistory } from './history.ts'
import { median, memoryOf, startMeter } from './meter.ts'

export interface DeskBench {
  readonly results: number
  readonly pages: readonly DeskPageFigures[]
  /** The median page: CPU of desk and server together. */
  readonly medianMs: number
  /** Share of a core that the desk uses for fifty open live pages. */
  readonly live: number
  /** Megabytes after all pages, and the peak. */
  readonly memory: { readonly rss: number; readonly largest: number }
}

interface DeskPageFigures {
  readonly path: string
  readonly bytes: number
  /** Milliseconds of CPU for one request. */
  readonly desk: number
  readonly postgres: number
  /** Milliseconds of wall time. */
  readonly clock: number
  /** CPU of the desk in proportion to that of its statements. */
  readonly share: number
}

export interface DeskBenchOptions {
  /** A database with a history. */
  readonly databaseUrl: string
  /** Process id of its server, to measure its CPU time. */
  readonly server: number
  readonly say?: (line: string) => void
}

/** 300,000 results, and 3 million: few keywords over many nights, and many keywords over few nights. */
const histories = [
  { queries: 1000, nights: 30 },
  { queries: 1000, nights: 300 },
  { queries: 100_000, nights: 3 },
] as const
const liveSeconds = 30
const livePages = 50
// A process counts its CPU in hundredths of a second, so cheap pages are requested repeatedly.
const leastTicksMs = 200
const mostRounds = 40

/** Fills a database with each history, and measures the desk on it. */
export async function benchDeskOn(
  options: Omit<DeskBenchOptions, 'databaseUrl'> & {
    readonly short: boolean
    /** Creates a database with empty tables and returns its address. */
    readonly freshUrl: () => Promise<string>
  },
): Promise<readonly DeskBench[]> {
  const { short, say = () => undefined } = options
  const found: DeskBench[] = []
  for (const { queries, nights } of short ? [{ queries: 100, nights: 30 }] : histories) {
    say(`making ${queries} queries over ${nights} nights`)
    const databaseUrl = await options.freshUrl()
    await fill(databaseUrl, { queries, nights })
    found.push(await benchDesk({ ...options, databaseUrl }))
  }
  return found
}

/** With the sums of its days stored, as after regular nights. */
async function fill(databaseUrl: string, size: { queries: number; nights: number }): Promise<void> {
  const pool = openPool(databaseUrl, { name: 'bench', max: 1 })
  try {
    await makeHistory(pool, size)
    await finishDays(openDatabase(pool))
    await pool.query('vacuum analyze')
  } finally {
    await pool.end()
  }
}

/** Requests every page from its own desk, several times. */
export async function benchDesk(options: DeskBenchOptions): Promise<DeskBench> {
  const { databaseUrl, server, say = () => undefined } = options
  const pool = openPool(databaseUrl, { name: 'bench', max: 1 })
  const desk = await startDesk(databaseUrl)
  try {
    const { paths, results } = await addressesOf(pool)
    const meters = { postgres: server, others: [desk.pid] }
    const pages: DeskPageFigures[] = []
    for (const path of paths) {
      say(path)
      pages.push(await measurePage(desk.url, path, meters))
    }
    say('fifty live pages')
    const live = await measureLive(desk.url, meters)
    const memory = memoryOf(desk.pid)
    return {
      results,
      pages,
      medianMs: median(pages.map((page) => page.desk + page.postgres)),
      live,
      memory: memory ?? { rss: Number.NaN, largest: Number.NaN },
    }
  } finally {
    await desk.close()
    await pool.end()
  }
}

/** Formats the figures for people. */
export function describeDesk({ results, pages, medianMs, live, memory }: DeskBench): string {
  const heads = ['page', 'desk ms', 'postgres ms', 'share', 'clock ms', 'kB']
  const rows = pages.map((one) => [
    one.path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID'),
    one.desk.toFixed(1),
    one.postgres.toFixed(1),
    `${(one.share * 100).toFixed(0)} %`,
    one.clock.toFixed(0),
    (one.bytes / 1000).toFixed(0),
  ])
  const table = formatTable(heads, rows, { right: heads.slice(1) })
  return `${table}\n\n${results} results; the middle page takes ${medianMs.toFixed(0)} ms of CPU, fifty live pages ${(live * 100).toFixed(2)} % of a core, memory ${memory.rss} MB (${memory.largest} MB at most)`
}

interface BenchDeskProcess {
  readonly url: string
  readonly pid: number
  readonly close: () => Promise<void>
}

/** Starts a desk as `npm run desk` does. */
async function startDesk(databaseUrl: string): Promise<BenchDeskProcess> {
  const home = mkdtempSync(join(tmpdir(), 'querymill-bench-desk-'))
  const flags = ['--max-old-space-size=128', '--max-semi-space-size=2', '--import', 'tsx']
  const job = join(root, 'jobs', 'desk.ts')
  const child = spawn(process.execPath, [...flags, job, '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, DATABASE_URL: databaseUrl, MILL_HOME: home },
  })
  let told = ''
  for await (const line of createInterface(child.stdout)) {
    told += line
    if (line === '}') break
  }
  const { url } = JSON.parse(told) as { url: string }
  const close = async () => {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
    rmSync(home, { recursive: true, force: true })
  }
  return { url, pid: child.pid ?? 0, close }
}

/** The most expensive of each kind: query with the highest weight, largest domain and page, newest night. */
async function addressesOf(pool: Pool) {
  const { rows } = await pool.query<
    Record<'query' | 'domain' | 'page' | 'day' | 'before', string>
  >(`
    with days as (select run_date from runs group by run_date order by run_date desc limit 2)
    select
      (select query_id from list_queries order by weight desc nulls last, query_id limit 1) as query,
      (select max(run_date) from days) as day, (select min(run_date) from days) as before,
      (select domain from result_domains where domain is not null and search_id > (select max(id) from searches) - 1000
        group by domain order by count(*) desc limit 1) as domain,
      (select page_id from organic_results where page_id is not null and search_id > (select max(id) from searches) - 1000
        group by page_id order by count(*) desc limit 1) as page`)
  const counted = await pool.query<{ run: number; list: number; results: number }>(`
    select max(runs.id) as run, max(runs.list_id) as list, (select count(*) from organic_results) as results
    from runs`)
  const { query, domain, page, day, before } = rows[0] ?? {}
  const { run, list, results = 0 } = counted.rows[0] ?? {}
  const paths = [
    ...[
      '/',
      '/nights',
      `/runs/${run}`,
      '/money',
      '/money/statement',
      '/operations',
      '/keywords',
      '/compare',
    ],
    ...[`/queries/${query}`, `/queries/${query}/nights/${day}?beside=${before}`],
    ...['/domains', `/domains/${domain}`, `/pages/${page}`, '/lists', `/lists/${list}`],
    ...['/ask', '/ask/ranks?go=1', '/sql?text=select+run_date,answered+from+analysis.days'],
  ]
  return { paths, results }
}

async function measurePage(
  url: string,
  path: string,
  meters: Parameters<typeof startMeter>[0],
): Promise<DeskPageFigures> {
  const bytes = await ask(url + path)
  const stop = startMeter(meters)
  let rounds = 0
  let { others, postgres, seconds } = stop()
  while (rounds < 3 || (rounds < mostRounds && Math.min(others, postgres) < leastTicksMs * 1000)) {
    await ask(url + path)
    rounds += 1
    ;({ others, postgres, seconds } = stop())
  }
  const each = (whole: number) => whole / 1000 / rounds
  return {
    path,
    bytes,
    desk: each(others),
    postgres: each(postgres),
    clock: (seconds * 1000) / rounds,
    share: others / postgres,
  }
}

function ask(address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(address, (response) => {
      let bytes = 0
      response.on('data', (piece: Buffer) => (bytes += piece.length))
      response.on('end', () =>
        response.statusCode === 200
          ? resolve(bytes)
          : reject(new Error(`expected ${address} to be answered, got ${response.statusCode}`)),
      )
      response.on('error', reject)
    }).on('error', reject)
  })
}

async function measureLive(url: string, meters: Parameters<typeof startMeter>[0]): Promise<number> {
  const open = await Promise.all(Array.from({ length: livePages }, () => listen(url)))
  const stop = startMeter(meters)
  await pause(liveSeconds * 1000, new AbortController().signal)
  const { others, seconds } = stop()
  for (const leave of open) leave()
  return others / 1e6 / seconds
}

/** Resolves when the first numbers have arrived. */
function listen(url: string): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const sent = get(`${url}/live?page=/operations`, (response) => {
      response.on('error', () => undefined)
      response.on('data', (piece: Buffer) => {
        if (piece.includes('data:')) resolve(() => sent.destroy())
      })
    })
    sent.on('error', reject)
  })
}
