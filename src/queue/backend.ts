import { createPostgresBackend, Queue, Worker, type WorkerOptions } from 'bullmq'
import { openDatabase, type Pool } from '../store/database.ts'
import { undoLeaps } from '../store/leaps.ts'
import { openRedis } from './redis.ts'

export type BackendName = 'postgres' | 'redis'

/** Where jobs live: a pool whose search path is BullMQ's schema, or the address of a Redis. */
export type QueueStore = { readonly pool: Pool } | { readonly redisUrl: string }

/** What a job carries, whatever the queue. */
export type Processor<Data> = (data: Data) => Promise<void>

/** Both backends behind one door: the only place that knows which one is behind it. */
export interface Backend {
  readonly name: BackendName
  queue<Data>(name: string): Queue<Data>
  worker<Data>(name: string, processor: Processor<Data>, options: ConsumeOptions): Worker<Data>
  /** Makes good what a worker left whose clock ran ahead. */
  undoLeaps(): Promise<void>
  close(): Promise<void>
}

/** How jobs are taken from a queue. */
export type ConsumeOptions = Pick<WorkerOptions, 'concurrency'>

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
