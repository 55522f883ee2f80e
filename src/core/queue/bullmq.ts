// BullMQ on PostgreSQL or Redis.

import { createPostgresBackend, Queue, Worker, type WorkerOptions } from 'bullmq'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { readRedisAddress } from '../../base/address.ts'
import { openDatabase, type Pool } from '../../base/database/database.ts'
import { undoLeaps } from '../../base/database/trouble.ts'
import { asError, codeOf, Misuse, reasonOf, Unreachable, WrongDatabase } from '../../base/errors.ts'
import { late, within } from '../../base/waiting.ts'

export type BackendName = 'postgres' | 'redis'

/** Store of the jobs: a pool whose search path is BullMQ's schema, or the address of a Redis. */
export type QueueStore = { readonly pool: Pool } | { readonly redisUrl: string }

/** Works on the data of a job. */
type Processor<Data> = (data: Data) => Promise<void>

/** Both backends behind one door: the only place that knows which one is behind it. */
export interface Backend {
  readonly name: BackendName
  queue<Data>(name: string): Queue<Data>
  worker<Data>(name: string, processor: Processor<Data>, options: ConsumeOptions): Worker<Data>
  /** Makes good what a worker left whose clock ran ahead. */
  undoLeaps(): Promise<void>
  close(): Promise<void>
}

/** Options of a consumer. */
type ConsumeOptions = Pick<WorkerOptions, 'concurrency'>

// A worker that dies is noticed within lock plus twice the check; a stall is no fault of the job. Handing a slice
// out twice is harmless, since the tables say what is still to be bought: so the lock may be short. Together they are
// nine seconds: slices that the dead held, where no others are left, must not keep a fleet standing for longer.
const patience = {
  lockDuration: 6_000,
  stalledInterval: 1_500,
  maxStalledCount: 1_000_000,
  runRetryDelay: 1_000,
} as const

// Locks are renewed when half of them is over.
const leap = { lockMs: patience.lockDuration, graceMs: patience.lockDuration / 2 + 500 } as const

/** Opens the door. `id` keeps the queues of several databases on one Redis apart. */
export async function openBackend(store: QueueStore, id: string): Promise<Backend> {
  return 'pool' in store ? postgresBackend(store.pool) : redisBackend(store.redisUrl, id)
}

// The classes are generic over their backend and default to Redis; all that we call is the same on both.
const onPostgres = createPostgresBackend as never

function postgresBackend(pool: Pool): Backend {
  const connection = pool as never
  return {
    name: 'postgres',
    queue: <Data>(name: string) => listen(new Queue<Data>(name, { connection }, onPostgres)),
    worker: <Data>(name: string, processor: Processor<Data>, options: ConsumeOptions) =>
      listen(
        new Worker<Data>(
          name,
          (job) => processor(job.data),
          { connection, ...patience, ...options },
          onPostgres,
        ),
      ),
    undoLeaps: () => undoLeaps(openDatabase(pool), leap),
    close: async () => undefined,
  }
}

async function redisBackend(url: string, id: string): Promise<Backend> {
  const connection = await openRedis(url)
  // The braces keep all keys of a queue in one slot of a cluster.
  const shared = { connection, prefix: `{querymill-${id}}` }
  return {
    name: 'redis',
    queue: <Data>(name: string) => listen(new Queue<Data>(name, shared)),
    worker: <Data>(name: string, processor: Processor<Data>, options: ConsumeOptions) =>
      listen(
        new Worker<Data>(name, (job) => processor(job.data), {
          ...shared,
          ...patience,
          ...options,
        }),
      ),
    // Redis has a clock of its own.
    undoLeaps: async () => undefined,
    close: async () => connection.disconnect(),
  }
}

/** An emitter without a listener for errors ends the process; a store that is away is noticed where it is asked. */
function listen<T extends { on(event: 'error', listener: (error: Error) => void): unknown }>(
  emitter: T,
): T {
  emitter.on('error', () => undefined)
  return emitter
}

/** As long as the first connections to PostgreSQL are tried: a machine on which many start at once is slow. */
const firstAnswerMs = 30_000

/** A server that was the first among them and came back as a copy: what it refused is sent again, to the new first. */
const reconnectAndResend = 2

const redisOptions: RedisOptions = {
  // Blocking commands of the queue wait for as long as it takes.
  maxRetriesPerRequest: null,
  lazyConnect: true,
  reconnectOnError: (error) => (firstWord(error) === 'READONLY' ? reconnectAndResend : false),
}

/** Redis gives its errors a code as their first word. */
function firstWord({ message }: Error): string {
  return message.split(' ', 1)[0] ?? ''
}

/** One connection to a Redis that answers and keeps every key; each worker opens a blocking one beside it. */
export async function openRedis(url: string): Promise<Redis | Cluster> {
  const connection = connectionOf(url)
  let told: Error | undefined
  connection.on('error', (error: Error) => (told = error))
  try {
    for (const memory of await firstAnswer(connection, () => told)) refuseForgetful(memory)
  } catch (error) {
    connection.disconnect()
    throw error
  }
  return connection
}

function connectionOf(url: string): Redis | Cluster {
  const address = readRedisAddress(url)
  // The setting was read before; tests and tools may say what they like.
  if (address === null) throw new Misuse(`expected REDIS_URL to lead to a Redis, got ${url}`)
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
      // A certificate names hosts: what a name leads to is looked up when the connection is made.
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

/** The error of the sentinels, out of the driver's message. */
function sentinelReason(error: Error): string | undefined {
  return /^All sentinels are unreachable\b.* Last error: (.*)$/s.exec(error.message)?.[1]
}

/** Fails when no sentinel lets us in: the driver would ask for ever. */
function sentinelRefusal(connection: Redis | Cluster): Promise<never> {
  return new Promise((_, fail) => {
    connection.on('error', (error: Error) => {
      const reason = sentinelReason(error) ?? ''
      if (/^(?:NOAUTH|WRONGPASS|NOPERM)\b/.test(reason)) fail(error)
    })
  })
}

/** Asks every server that holds keys about its memory. */
async function firstAnswer(
  connection: Redis | Cluster,
  told: () => Error | undefined,
): Promise<readonly string[]> {
  const asked = connection.connect().then(() => {
    const servers = connection instanceof Cluster ? connection.nodes('master') : [connection]
    return Promise.all(servers.map((server) => server.info('memory')))
  })
  try {
    const first = Promise.race([asked, sentinelRefusal(connection)])
    const answers = await within(first, { ms: firstAnswerMs })
    if (answers === late) throw told() ?? new Error(`no answer within ${firstAnswerMs / 1000} s`)
    return answers
  } catch (cause) {
    // The driver ends with "Connection is closed." what failed for a reason that it told before.
    const error = asError(codeOf(cause) === null ? (told() ?? cause) : cause)
    const reason = sentinelReason(error) ?? reasonOf(error)
    throw new Unreachable(
      `expected a Redis server at REDIS_URL, got ${reason}; start it, or unset REDIS_URL to queue on Postgres`,
      { cause },
    )
  }
}

/** A Redis that may drop keys hands out jobs without data: refused before the first one. */
function refuseForgetful(memory: string): void {
  const value = (name: string) => new RegExp(`^${name}:(.*)$`, 'm').exec(memory)?.[1]?.trim()
  const policy = value('maxmemory_policy') ?? 'noeviction'
  if (value('maxmemory') === '0' || policy === 'noeviction') return
  throw new WrongDatabase(
    `expected a Redis that keeps every key, got maxmemory-policy ${policy}; set it to noeviction`,
  )
}
