import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { Pool } from 'undici'
import { say } from '../../src/base/cli/command.ts'
import { root } from '../../src/base/root.ts'
import { openTables } from '../../src/service/database.ts'
import { Keys } from '../../src/service/keys.ts'

/** Answers per second of the service in a separate process, with the client on the same machine. */
export interface ServiceFigures {
  readonly mock: Speed
  readonly canned: Speed
  /** Ten results each, from the shipped documents. */
  readonly live: Speed
  /** One request at a time: the latency for one client. */
  readonly liveAlone: Speed
  readonly live100: Speed
  /** Like `live`, after half a year of requests of the account. */
  readonly liveLater: Speed
  readonly corpusSeconds: number
  /** Load averages of the machine over a minute, before and after. */
  readonly load: readonly number[]
}

export interface Speed {
  readonly calls: number
  readonly perSecond: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  /** Milliseconds of CPU of the service per answer; null if the system does not report it. */
  readonly cpuMs: number | null
}

interface Load {
  readonly url: string
  readonly key: string
  readonly calls: number
  readonly lanes: number
  readonly num?: number
  readonly queries?: readonly string[]
  readonly pid: number
}

/** Measures on a new database on the given server, prints a table, and drops the database. */
export async function benchService(databaseUrl: string): Promise<ServiceFigures> {
  return await withScratch(databaseUrl, async (url) => {
    const before = round(loadavg()[0] ?? 0)
    const measured = { ...(await measureReal(url)), canned: await measureCanned() }
    const figures = { ...measured, load: [before, round(loadavg()[0] ?? 0)] }
    for (const name of ['canned', 'mock', 'live', 'liveAlone', 'live100', 'liveLater'] as const) {
      const { calls, perSecond, p50, p95, p99, cpuMs } = figures[name]
      say(
        `${name.padEnd(10)} ${calls} calls  ${perSecond}/s  p50 ${p50} ms  p95 ${p95} ms  p99 ${p99} ms  cpu of the service ${cpuMs ?? '?'} ms each`,
      )
    }
    say(
      `load       ${figures.load.join(' and ')} (one-minute averages of the machine before and after; 0 is idle)`,
    )
    say(`corpus     loaded and first answer in ${figures.corpusSeconds} s`)
    return figures
  })
}

async function measureReal(databaseUrl: string): Promise<Omit<ServiceFigures, 'canned' | 'load'>> {
  const tables = await openTables(databaseUrl, 1)
  const keys = new Keys(tables.pool)
  const live = await keys.create({ kind: 'live', plan: 'unlimited' })
  const test = await keys.create({ kind: 'test' })
  await tables.close()
  const child = await startChild(['service', '--upstream', 'local', '--log', 'none'], databaseUrl)
  try {
    const { url, pid } = child
    const queries = readQueries()
    const mock = await warmAndRun({ url, pid, key: test.key, calls: 6000, lanes: 16 })
    const start = performance.now()
    await run({ url, pid, key: live.key, calls: 1, lanes: 1, queries })
    const corpusSeconds = round((performance.now() - start) / 1000)
    const wish = { url, pid, key: live.key, queries }
    // V8 compiles most of the code within the first thousands of searches.
    const others = [' online', ' help'].flatMap((end) => queries.map((query) => query + end))
    await run({ ...wish, queries: others, calls: others.length, lanes: 4 })
    const figures = {
      mock,
      corpusSeconds,
      live: await run({ ...wish, calls: 900, lanes: 4 }),
      liveAlone: await run({ ...wish, calls: 300, lanes: 1 }),
      live100: await run({ ...wish, calls: 200, lanes: 4, num: 100 }),
    }
    await fillUsage(databaseUrl, live)
    return { ...figures, liveLater: await warmAndRun({ ...wish, calls: 900, lanes: 4 }) }
  } finally {
    await child.stop()
  }
}

const laterRows = 300_000

/** Half a year of requests of one account, each with a different query. */
async function fillUsage(
  databaseUrl: string,
  { id, account }: { readonly id: number; readonly account: number },
): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query(
      `insert into service.usage (key_id, account_id, at, period, q, num, reserved, credits, status, ms, provider)
      select $1, $2, now() - n * interval '50 seconds', date_trunc('month', now())::date, 'css query ' || n, 10, 1, 1, 200, 20, 'local'
      from generate_series(1, ${laterRows}) as n`,
      [id, account],
    )
    // Otherwise, autovacuum would run during the measurement.
    await client.query('vacuum analyze service.usage')
  } finally {
    await client.end()
  }
}

async function measureCanned(): Promise<Speed> {
  const child = await startChild(['stand-in', '--canned'], null)
  try {
    const { url, pid } = child
    return await warmAndRun({ url, pid, key: 'sk_live_any', calls: 40_000, lanes: 32 })
  } finally {
    await child.stop()
  }
}

const endings =
  ', support, example, browser, tutorial, guide, reference, polyfill, specification, demo, performance, accessibility, security, mobile, safari, firefox, chrome, syntax, property, values, events, animation, layout, module, async, error, debugging, testing, compatibility, fallback, detection, history, draft, standard, interface, method, element, attribute, default, nested, dynamic, responsive, legacy, modern, experimental'

/** Every query of the shipped list with each ending, so that no query is asked twice in one benchmark. */
function readQueries(): string[] {
  const text = readFileSync(join(root, 'inputs', 'keywords.csv'), 'utf8')
  const words = text
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split(',')[0] ?? '')
  return endings.split(',').flatMap((ending) => words.map((word) => word + ending))
}

async function warmAndRun(load: Load): Promise<Speed> {
  await run({ ...load, calls: Math.ceil(load.calls / 10) })
  return await run(load)
}

/** Number of queries so far, so that each run continues where the one before ended. */
let asked = 0

async function run({ url, pid, key, calls, lanes, num = 10, queries }: Load): Promise<Speed> {
  const pool = new Pool(url, { connections: lanes })
  const times: number[] = []
  const first = asked
  const lane = async () => {
    while (asked < first + calls) {
      const number = asked
      asked += 1
      const q = queries?.[number % queries.length] ?? `query ${number}`
      const start = performance.now()
      const { statusCode, body } = await pool.request({
        method: 'GET',
        path: `/v1/search?num=${num}&q=${encodeURIComponent(q)}`,
        headers: { authorization: `Bearer ${key}` },
      })
      await body.arrayBuffer()
      if (statusCode !== 200) throw new Error(`expected status 200, got ${statusCode}`)
      times.push(performance.now() - start)
    }
  }
  const [start, cpuBefore] = [performance.now(), cpuOf(pid)]
  await Promise.all(Array.from({ length: lanes }, lane))
  const seconds = (performance.now() - start) / 1000
  const cpu = cpuBefore === null ? null : (cpuOf(pid) ?? 0) - cpuBefore
  await pool.close()
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => round(sorted[Math.floor(sorted.length * share)] ?? 0)
  const cpuMs = cpu === null ? null : Math.round((cpu / calls) * 100) / 100
  return {
    calls,
    perSecond: Math.round(calls / seconds),
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    cpuMs,
  }
}

/** User and system time of a process so far, in milliseconds, as counted by Linux. */
function cpuOf(pid: number): number | null {
  const file = `/proc/${pid}/stat`
  if (!existsSync(file)) return null
  const fields = readFileSync(file, 'utf8').split(') ')[1]?.split(' ') ?? []
  const ticks = Number(fields[11]) + Number(fields[12])
  return ticks * 10
}

interface Child {
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}

async function startChild(
  [job, ...flags]: readonly string[],
  databaseUrl: string | null,
): Promise<Child> {
  const env = {
    PATH: '/usr/bin:/bin',
    ...(databaseUrl === null ? {} : { DATABASE_URL: databaseUrl }),
  }
  const child: ChildProcess = spawn(
    process.execPath,
    ['--import', 'tsx', `jobs/${job}.ts`, '--port', '0', ...flags],
    { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  if (child.stdout === null) throw new Error('expected the service to have an output')
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const { url } = JSON.parse(line) as { url: string }
  return {
    url,
    pid: child.pid ?? 0,
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

async function withScratch<T>(server: string, work: (url: string) => Promise<T>): Promise<T> {
  const name = `service_bench_${process.pid}`
  const admin = new pg.Client({ connectionString: server })
  await admin.connect()
  try {
    await admin.query(`create database ${name}`)
    const url = new URL(server)
    url.pathname = `/${name}`
    return await work(url.href)
  } finally {
    await admin.query(`drop database if exists ${name} with (force)`)
    await admin.end()
  }
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
