import { Closers } from '../shared/closers.ts'
import { Misuse, unhandled } from '../shared/errors.ts'
import { quietLog, type Log } from '../shared/log.ts'
import type { Provider } from './answer.ts'
import { buildApp, refuse } from './app.ts'
import { refundOrphans } from './credits.ts'
import { openTables, type Tables } from './database.ts'
import { noDrift, openDrift, type Drift } from './upstream/drift.ts'
import { KeyRing } from './keyring.ts'
import { createKey, listKeys, readUsage, revokeKey } from './keys.ts'
import type { IssuedKey, ListedKey, NewKey, UsedDay } from './keys.ts'
import { checkRequest, closeServer, listen } from './listen.ts'
import { openLocal } from './upstream/local.ts'
import { openMock } from './upstream/mock.ts'
import { openSearxng } from './upstream/searxng.ts'

export interface ServiceOptions {
  readonly databaseUrl: string
  /** 0: any free one. */
  readonly port?: number
  readonly host?: string
  /** What live keys find: the documents of this machine, the web through a SearXNG, or invented pages. */
  readonly upstream?: Upstream
  /** With upstream `searxng`: where it lives. */
  readonly searxngUrl?: URL
  /** Path under which everything lives, such as `/search-api`. */
  readonly basePath?: string
  /** Seed of answers that move from day to day; unset: they stand still. */
  readonly drift?: string
  /** The day that moving answers are of. */
  readonly today?: () => Date
  readonly log?: Log
  readonly deadlineMs?: number
  readonly poolSize?: number
}

/** What live keys can find. */
export const upstreams = ['local', 'searxng', 'mock'] as const
export type Upstream = (typeof upstreams)[number]

export interface Service {
  /** Base address, as `SEARCH_API_URL` wants it. */
  readonly url: string
  readonly port: number
  readonly keys: Keys
  close(): Promise<void>
}

/** What the keys command does, for programs. */
export interface Keys {
  create(wish: NewKey): Promise<IssuedKey>
  revoke(keyOrId: string): Promise<boolean>
  list(): Promise<ListedKey[]>
  usage(): Promise<UsedDay[]>
}

const orphanAgeMs = 300_000
const sweepMs = 60_000
const graceMs = 8000

/** Starts the search service; it answers when this returns. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const closers = new Closers()
  const log = options.log ?? quietLog()
  try {
    const tables = await openTables(options.databaseUrl, options.poolSize)
    closers.add('tables', tables, (open) => open.close())
    const drift =
      options.drift === undefined
        ? noDrift
        : openDrift(options.drift, options.today ?? (() => new Date()))
    const mock = openMock(drift)
    const provider = closers.add(
      'provider',
      openProvider(options, { tables, drift, mock }),
      (one) => one.close(),
    )
    const where = { host: options.host ?? '127.0.0.1', port: options.port ?? 0 }
    const basePath = options.basePath ?? ''
    let base = `http://${where.host}:${where.port}${basePath}`
    const docsUrl = () => `${base}/docs`
    const app = buildApp({
      pool: tables.pool,
      keys: new KeyRing(tables.pool),
      provider,
      mock,
      basePath,
      docsUrl,
      log,
      deadlineMs: options.deadlineMs ?? 30_000,
    })
    const sweep = setInterval(() => void sweepOrphans(tables, log), sweepMs)
    closers.add('sweep', sweep, (timer) => Promise.resolve(clearInterval(timer)))
    await sweepOrphans(tables, log)
    const { server, port, url } = await listen(
      (request) => {
        const refusal = checkRequest(request)
        return refusal === null ? app.fetch(request) : refuse({ docsUrl, log }, refusal)
      },
      { ...where, docsUrl },
    )
    closers.add('port', server, (open) => closeServer(open, graceMs))
    base = `${url}${basePath}`
    return { url: base, port, keys: keysOf(tables), close: () => closers.close() }
  } catch (error) {
    await closers.close()
    throw error
  }
}

function openProvider(
  options: ServiceOptions,
  { tables, drift, mock }: { tables: Tables; drift: Drift; mock: Provider },
): Provider {
  const upstream = options.upstream ?? 'local'
  switch (upstream) {
    case 'mock':
      return mock
    case 'local':
      return openLocal(tables, drift)
    case 'searxng':
      return openSearxng({ url: needUrl(options.searxngUrl) })
    default:
      throw unhandled('upstream', upstream)
  }
}

function needUrl(url: URL | undefined): URL {
  if (url !== undefined) return url
  throw new Misuse(
    'expected SEARXNG_URL to be set with UPSTREAM=searxng, got nothing; give its address',
  )
}

async function sweepOrphans({ pool }: Tables, log: Log): Promise<void> {
  try {
    const refunded = await refundOrphans(pool, orphanAgeMs)
    if (refunded > 0) log.warn({ refunded }, 'requests that died with their process were refunded')
  } catch (error) {
    // The next sweep comes in a minute; requests report it themselves when the database is away.
    log.error({ err: error }, 'the sweep of unfinished requests failed')
  }
}

/** Opens only what the keys command needs. */
export async function openKeys(databaseUrl: string): Promise<Keys & { close(): Promise<void> }> {
  const tables = await openTables(databaseUrl, 1)
  return { ...keysOf(tables), close: () => tables.close() }
}

function keysOf({ pool }: Tables): Keys {
  return {
    create: (wish) => createKey(pool, wish),
    revoke: (keyOrId) => revokeKey(pool, keyOrId),
    list: () => listKeys(pool),
    usage: () => readUsage(pool),
  }
}
