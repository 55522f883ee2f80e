// Starts the search service: opens its components, answers requests, and cleans up after interrupted requests.

import type pg from 'pg'
import { Misuse } from '../base/errors.ts'
import { type Log, quietLog } from '../base/log.ts'
import type { Secret } from '../base/secret.ts'
import { dayMs } from '../base/time/zone.ts'
import { Closers } from '../base/waiting.ts'
import { buildApp } from './app.ts'
import { openCredits } from './credits.ts'
import { openTables, type Tables } from './database.ts'
import { replaySeconds } from './sell.ts'
import { Keys } from './keys.ts'
import { closeServer, listen } from './listen.ts'
import { openLocal } from './upstream/local.ts'
import { noDrift, openDrift, openMock } from './upstream/mock.ts'
import { openSearxng } from './upstream/searxng.ts'

export interface ServiceOptions {
  readonly databaseUrl: string
  /** Port; 0 selects any free port. */
  readonly port?: number
  readonly host?: string
  readonly upstream?: (typeof upstreams)[number]
  /** URL of SearXNG, required for the `searxng` upstream. */
  readonly searxngUrl?: URL | null
  /** Seed for answers that change from day to day. Without a seed, answers do not change. */
  readonly drift?: string | undefined
  /** If true, most answers stay the same for days or weeks. */
  readonly calm?: boolean
  readonly today?: (() => Date) | undefined
  readonly log?: Log
  /** Dashboard password. Without a password, the dashboard is available only on this machine. */
  readonly password?: Secret | null
  /** The service's public URL, with its path. The default is the URL that the service listens on. */
  readonly publicUrl?: string | undefined
  /** Age at which a stored query's text is deleted. */
  readonly keepMs?: number
  readonly deadlineMs?: number
  readonly leaseMs?: number
  /** Time limit for a search through SearXNG. */
  readonly upstreamMs?: number
}

export const upstreams = ['local', 'searxng', 'mock'] as const

export async function startService(options: ServiceOptions) {
  const { host = '127.0.0.1', log = quietLog() } = options
  const { keepMs = 90 * dayMs, deadlineMs = 30_000 } = options
  const closers = new Closers()
  try {
    const tables = await openTables(options.databaseUrl)
    closers.add('tables', tables, (open) => open.close())
    const { pool } = tables
    const keys = new Keys(pool)
    let base = ''
    const publicUrl = () => options.publicUrl?.replace(/\/$/, '') ?? base
    const app = buildApp({
      ...openSources(options, tables, log),
      pool,
      publicUrl,
      log,
      deadlineMs,
      keys,
      reserveCredits: openCredits(pool),
      password: options.password ?? null,
      // The lease is longer than the deadline, because a request is settled after its deadline.
      leaseMs: options.leaseMs ?? deadlineMs + 20_000,
    })
    const timer = setInterval(() => void sweep(pool, log, keepMs), 60_000)
    closers.add('sweep', timer, (open) => Promise.resolve(clearInterval(open)))
    await sweep(pool, log, keepMs)
    const { port = 0 } = options
    const opened = await listen(app.fetch, { host, port, log, publicUrl })
    closers.add('port', opened.server, (open) => closeServer(open, 8000))
    base = opened.url
    return { ...opened, keys, close: () => closers.close() }
  } catch (error) {
    await closers.close()
    throw error
  }
}

function openSources(options: ServiceOptions, tables: Tables, log: Log) {
  const { upstream = 'local', searxngUrl: url, drift: seed, today = () => new Date() } = options
  const drift = seed === undefined ? noDrift : openDrift(seed, today, options.calm)
  const mock = openMock(drift)
  if (upstream === 'mock') return { mock, provider: mock }
  if (upstream === 'local') return { mock, provider: openLocal(tables, drift) }
  if (url) return { mock, provider: openSearxng(url, log, options.upstreamMs) }
  const problem = 'UPSTREAM=searxng requires SEARXNG_URL, which is not set'
  throw new Misuse(`${problem}; set it to the address of SearXNG`)
}

/** Refunds dead requests, and deletes old answers and the text of old queries. */
export async function sweep(pool: pg.Pool, log: Log, keepMs: number): Promise<void> {
  try {
    const { rowCount: refunded } = await pool.query(refundOrphans)
    if (refunded) log.warn({ refunded }, 'interrupted requests of ended processes were refunded')
    await pool.query(
      `delete from kept_answers where claimed_at < now() - make_interval(secs => ${replaySeconds})`,
    )
    // Deletes the texts, but keeps counts and costs.
    await pool.query(
      `update usage set q = ''
      where q <> ''
        and at < now() - make_interval(secs => $1)
        and credits is not null`,
      [keepMs / 1000],
    )
  } catch (error) {
    // The sweep runs again in a minute. Requests also report that the database is unreachable.
    log.error({ err: error }, 'the sweep of unfinished requests failed')
  }
}

const refundOrphans = `
  with orphans as (
    select id
    from usage
    where credits is null
      and at < now() - interval '5 minutes'
    for update skip locked
  ),
  ended as (
    update usage
    set credits = 0, status = 500
    from orphans
    where usage.id = orphans.id
    returning usage.account_id, usage.period, usage.reserved
  ),
  back as (
    update accounts
    set held = held - sums.reserved
    from (select account_id, period, sum(reserved) as reserved from ended group by account_id, period) as sums
    where accounts.id = sums.account_id
      and accounts.period = sums.period
  )
  select
  from ended`
