// Starts the search service: opens its components, serves, and cleans up after requests that died.

import type pg from 'pg'
import { Misuse } from '../base/errors.ts'
import { type Log, quietLog } from '../base/log.ts'
import type { Secret } from '../base/secret.ts'
import { dayMs } from '../base/time/zone.ts'
import { Closers } from '../base/waiting.ts'
import { buildApp } from './app.ts'
import { KeyCredits, RateLimiter } from './credits.ts'
import { openTables, type Tables } from './database.ts'
import { forgetAnswers } from './stored-answers.ts'
import {
  changePlan,
  createKey,
  KeyRing,
  listKeys,
  type NewKey,
  revokeKey,
  rotateKey,
  topUp,
} from './keys.ts'
import { closeServer, listen } from './listen.ts'
import type { Logged } from './reply.ts'
import { openLocal } from './upstream/local.ts'
import { noDrift, openDrift, openMock } from './upstream/mock.ts'
import { openSearxng } from './upstream/searxng.ts'
import { readDays } from './usage.ts'

export interface ServiceOptions {
  readonly databaseUrl: string
  /** 0 selects any free port. */
  readonly port?: number
  readonly host?: string
  /** Source of answers for live keys: the documents of this machine, the web through SearXNG, or generated pages. */
  readonly upstream?: (typeof upstreams)[number]
  /** Address of SearXNG, with upstream `searxng`. */
  readonly searxngUrl?: URL | null
  /** Base path of all routes, such as `/search-api`. */
  readonly basePath?: string
  /** Seed of answers that change from day to day; if unset, answers do not change. */
  readonly drift?: string | undefined
  /** If true, most changing answers stay the same for days or weeks. */
  readonly calm?: boolean
  /** The clock that changing answers follow. */
  readonly today?: (() => Date) | undefined
  readonly log?: Log
  readonly logged?: Logged
  /** Password of the dashboard; if unset, the dashboard opens on this machine only. */
  readonly password?: Secret | null
  /** Address of the service for clients, with its path; if unset, the address that it listens on. */
  readonly publicUrl?: string | undefined
  /** Requests per second of the test keys of one account. */
  readonly testRate?: number | undefined
  /** Time until stored queries are reduced to sums. */
  readonly keepMs?: number
  readonly deadlineMs?: number
  readonly leaseMs?: number
  /** Time limit of upstream `searxng`: results received by then are the answer. */
  readonly upstreamMs?: number
}

/** Sources of answers for live keys. */
export const upstreams = ['local', 'searxng', 'mock'] as const

/** The actions of the keys command, for programs. */
export type Keys = ReturnType<typeof keysOf>

const sweepMs = 60_000
// A hundred years, in days.
const everyDay = 36_500
const graceMs = 8000
// A lease is longer than the deadline of a request, because the request is settled after it.
const leaseMarginMs = 20_000

/** Starts the search service; resolves when it accepts requests. */
export async function startService(options: ServiceOptions) {
  const { host = '127.0.0.1', port: wantedPort = 0, basePath = '', log = quietLog() } = options
  const { keepMs = 90 * dayMs, deadlineMs = 30_000 } = options
  const closers = new Closers()
  try {
    const tables = closers.add('tables', await openTables(options.databaseUrl), (open) =>
      open.close(),
    )
    const { pool } = tables
    const { mock, provider } = openSources(options, tables, log)
    let base = `http://${host}:${wantedPort}${basePath}`
    const publicUrl = () => options.publicUrl?.replace(/\/$/, '') ?? base
    const app = buildApp({
      pool,
      provider,
      mock,
      basePath,
      publicUrl,
      log,
      deadlineMs,
      credits: new KeyCredits(pool),
      keys: new KeyRing(pool),
      rateLimiter: new RateLimiter(pool, options.testRate),
      logged: options.logged ?? 'requests',
      password: options.password ?? null,
      leaseMs: options.leaseMs ?? deadlineMs + leaseMarginMs,
    })
    const timer = setInterval(() => void sweep(pool, log, keepMs), sweepMs)
    closers.add('sweep', timer, (open) => Promise.resolve(clearInterval(open)))
    await sweep(pool, log, keepMs)
    const { server, port, url } = await listen(
      (request, connection) => app.fetch(request, connection),
      { host, port: wantedPort, log, docsUrl: () => `${publicUrl()}/docs` },
    )
    closers.add('port', server, (open) => closeServer(open, graceMs))
    base = `${url}${basePath}`
    return {
      /** Base address, as `SEARCH_API_URL` expects it. */
      url: base,
      port,
      keys: keysOf(tables),
      close: () => closers.close(),
    }
  } catch (error) {
    await closers.close()
    throw error
  }
}

/** Opens the sources of answers for test keys and for live keys. */
function openSources(options: ServiceOptions, tables: Tables, log: Log) {
  const { upstream = 'local', searxngUrl: url, today = () => new Date() } = options
  const drift =
    options.drift === undefined ? noDrift : openDrift(options.drift, today, options.calm)
  const mock = openMock(drift)
  if (upstream === 'mock') return { mock, provider: mock }
  if (upstream === 'local') return { mock, provider: openLocal(tables, drift) }
  if (url === undefined || url === null) {
    throw new Misuse(
      'expected SEARXNG_URL to be set with UPSTREAM=searxng, got nothing; give its address',
    )
  }
  return { mock, provider: openSearxng({ url, log, budgetMs: options.upstreamMs }) }
}

/** Opens only the components that the keys command needs. */
export async function openKeys(databaseUrl: string) {
  const tables = await openTables(databaseUrl, 1)
  return { ...keysOf(tables), close: () => tables.close() }
}

function keysOf({ pool }: Tables) {
  return {
    create: (order: NewKey) => createKey(pool, order),
    revoke: (keyOrId: string) => revokeKey(pool, keyOrId),
    rotate: (order: Parameters<typeof rotateKey>[1]) => rotateKey(pool, order),
    topUp: (order: Parameters<typeof topUp>[1]) => topUp(pool, order),
    changePlan: (order: Parameters<typeof changePlan>[1]) => changePlan(pool, order),
    list: () => listKeys(pool),
    /** Requests and credits of each key on each day (UTC). */
    usage: async () => {
      const used = await readDays(pool, { days: everyDay, account: null })
      return used.map(({ id, kind, key, day, requests, failures, credits }) => {
        return { key_id: id, kind, tail: key.slice(-4), day, requests, failures, credits }
      })
    },
  }
}

/** Runs every minute: refunds dead requests, and deletes old answers and queries. */
async function sweep(pool: pg.Pool, log: Log, keepMs: number): Promise<void> {
  try {
    const refunded = await refundOrphans(pool)
    if (refunded > 0) log.warn({ refunded }, 'requests that died with their process were refunded')
    await forgetAnswers(pool)
    await foldUsage(pool, keepMs)
  } catch (error) {
    // The next sweep is in a minute; requests report an unreachable database themselves.
    log.error({ err: error }, 'the sweep of unfinished requests failed')
  }
}

const foldedAtOnce = 5000

/** Replaces old requests with daily sums, without their queries. */
export async function foldUsage(pool: pg.Pool, keepMs: number): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ folded: number }>(foldStatement, [keepMs / 1000])
    if ((rows[0]?.folded ?? 0) < foldedAtOnce) break
  }
}

const foldStatement = `
  with old as (
    delete from usage
    where id in (
      select id
      from usage
      where at < now() - make_interval(secs => $1)
        and credits is not null
      limit ${foldedAtOnce}
      for update skip locked
    )
    returning key_id, (at at time zone 'utc')::date as day, status, credits
  ),
  summed as (
    insert into usage_sums as sums (key_id, day, requests, failures, credits)
    select key_id, day, count(*), count(*) filter (where status <> 200), sum(credits)
    from old
    group by key_id, day
    on conflict (key_id, day) do update
    set
      requests = sums.requests + excluded.requests,
      failures = sums.failures + excluded.failures,
      credits = sums.credits + excluded.credits
  )
  select count(*) as folded
  from old`

/** Releases the reservations of requests that died with their process. */
async function refundOrphans(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ refunded: number }>(
    `
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
      select count(*) as refunded
      from ended`,
  )
  return rows[0]?.refunded ?? 0
}
