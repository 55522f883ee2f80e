// Opens BullMQ queues and workers on PostgreSQL or Redis.

import { createPostgresBackend, Queue, type QueueOptions, Worker } from 'bullmq'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { readRedisAddress } from '../../base/address.ts'
import { openDatabase, type Pool } from '../../base/database/database.ts'
import { undoLeaps } from '../../base/database/trouble.ts'
import { asError, codeOf, Misuse, reasonOf, Unreachable, WrongDatabase } from '../../base/errors.ts'
import { late, within } from '../../base/waiting.ts'

/** Job storage: a pool with BullMQ's schema as its search path, or a Redis URL. */
export type QueueStore = { readonly pool: Pool } | { readonly redisUrl: string }

/** Common interface of both backends. Other code does not depend on the backend in use. */
interface Backend {
  readonly name: 'postgres' | 'redis'
  queue<Data>(name: string): Queue<Data>
  worker<Data>(name: string, work: (data: Data) => Promise<void>, concurrency: number): Worker<Data>
  /** Undoes delays set by a worker with a fast clock. */
  undoLeaps(): Promise<void>
  close(): Promise<void>
}

// A dead worker is detected within the lock duration plus two check intervals. The lock can be short, because the
// database decides what to buy, so delivering a slice twice is harmless. The limit on a job's stalls is very high,
// because a stall is not the job's fault. Workers wait at most nine seconds for the last slices of a dead worker.
const patience = {
  lockDuration: 6_000,
  stalledInterval: 1_500,
  maxStalledCount: 1_000_000,
  runRetryDelay: 1_000,
} as const

// Locks are renewed after half their duration.
const leap = { lockMs: patience.lockDuration, graceMs: patience.lockDuration / 2 + 500 } as const

/** Opens the backend. `id` separates the queues of several databases that share one Redis server. */
export async function openBackend(store: QueueStore, id: string): Promise<Backend> {
  if ('pool' in store) {
    const { pool } = store
    return {
      name: 'postgres',
      ...clientsOf({ connection: pool }, onPostgres),
      undoLeaps: () => undoLeaps(openDatabase(pool), leap),
      close: async () => undefined,
    }
  }
  const connection = await openRedis(store.redisUrl)
  // The braces keep all keys for a queue in one slot of a Redis cluster.
  return {
    name: 'redis',
    ...clientsOf({ connection, prefix: `{querymill-${id}}` }),
    // Redis uses its own clock, so there are no timestamps to repair.
    undoLeaps: async () => undefined,
    close: async () => connection.disconnect(),
  }
}

// BullMQ's classes are generic over the backend, with Redis as the default. Both backends have the methods used here.
const onPostgres = createPostgresBackend as never

function clientsOf(shared: QueueOptions, backend?: never): Pick<Backend, 'queue' | 'worker'> {
  return {
    queue: <Data>(name: string) => listen(new Queue<Data>(name, shared, backend)),
    worker: <Data>(name: string, work: (data: Data) => Promise<void>, concurrency: number) => {
      const options = { ...shared, ...patience, concurrency }
      return listen(new Worker<Data>(name, (job) => work(job.data), options, backend))
    },
  }
}

/** Adds an error listener, so that an error does not end the process. Outages are reported by the next request. */
function listen<T extends { on(event: 'error', listener: (error: Error) => void): unknown }>(
  emitter: T,
): T {
  emitter.on('error', () => undefined)
  return emitter
}

/** Time limit for retrying the first PostgreSQL connections, which are slow if many processes start at once. */
const firstAnswerMs = 30_000

/** After a failover, the old primary may return as a replica. A rejected command is sent again to the new primary. */
const reconnectAndResend = 2

const redisOptions: RedisOptions = {
  // The queue's blocking commands may wait indefinitely.
  maxRetriesPerRequest: null,
  lazyConnect: true,
  reconnectOnError: ({ message }) => (/^READONLY\b/.test(message) ? reconnectAndResend : false),
}

/** Connects to a Redis server that responds and never evicts keys. Each worker also opens a blocking connection. */
export async function openRedis(url: string): Promise<Redis | Cluster> {
  const connection = connectionOf(url)
  try {
    for (const memory of await firstAnswer(connection)) refuseForgetful(memory)
  } catch (error) {
    connection.disconnect()
    throw error
  }
  return connection
}

function connectionOf(url: string): Redis | Cluster {
  const address = readRedisAddress(url)
  // The setting was validated earlier, but tests and tools may pass any string.
  if (address === null)
    throw new Misuse(`expected REDIS_URL to be the address of a Redis server, got ${url}`)
  if (address.kind === 'server') return new Redis(address.url, redisOptions)
  const { nodes, username, password, secure } = address
  const login = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(secure ? { tls: {} } : {}),
  }
  if (address.kind === 'cluster') {
    return new Cluster([...nodes], {
      lazyConnect: true,
      redisOptions: { ...redisOptions, lazyConnect: false, ...login },
      // Host names are not resolved before connecting, because certificates contain host names.
      ...(secure ? { dnsLookup: (host, done) => done(null, host) } : {}),
    })
  }
  const { sentinel } = address
  return new Redis({
    ...redisOptions,
    ...login,
    ...(sentinel.username === undefined ? {} : { sentinelUsername: sentinel.username }),
    ...(sentinel.password === undefined ? {} : { sentinelPassword: sentinel.password }),
    sentinels: [...nodes],
    name: address.name,
    db: address.db,
    ...(secure ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
  })
}

function sentinelReason(error: Error): string | undefined {
  return /^All sentinels are unreachable\b.* Last error: (.*)$/s.exec(error.message)?.[1]
}

async function firstAnswer(connection: Redis | Cluster): Promise<readonly string[]> {
  let told: Error | undefined
  // Fails if no sentinel accepts the connection. Otherwise, the driver would retry forever.
  const refused = new Promise<never>((_, fail) => {
    connection.on('error', (error: Error) => {
      told = error
      const reason = sentinelReason(error) ?? ''
      if (/^(?:NOAUTH|WRONGPASS|NOPERM)\b/.test(reason)) fail(error)
    })
  })
  const asked = connection.connect().then(() => {
    const servers = connection instanceof Cluster ? connection.nodes('master') : [connection]
    return Promise.all(servers.map((server) => server.info('memory')))
  })
  try {
    const answers = await within(Promise.race([asked, refused]), { ms: firstAnswerMs })
    if (answers === late) throw told ?? new Error(`no response within ${firstAnswerMs / 1000} s`)
    return answers
  } catch (cause) {
    // The driver reports the cause only once. Later errors only say "Connection is closed."
    const error = asError(codeOf(cause) === null ? (told ?? cause) : cause)
    const reason = sentinelReason(error) ?? reasonOf(error)
    throw new Unreachable(
      `expected a Redis server at REDIS_URL, got ${reason}; start it, or unset REDIS_URL to use PostgreSQL for the queue`,
      { cause },
    )
  }
}

/** Rejects a Redis server that may evict keys, because the queue's jobs would lose their data. */
function refuseForgetful(memory: string): void {
  const value = (name: string) => new RegExp(`^${name}:(.*)$`, 'm').exec(memory)?.[1]?.trim()
  const policy = value('maxmemory_policy') ?? 'noeviction'
  if (value('maxmemory') === '0' || policy === 'noeviction') return
  throw new WrongDatabase(
    `expected a Redis server that never evicts keys, got maxmemory-policy ${policy}; set the policy to noeviction`,
  )
}
