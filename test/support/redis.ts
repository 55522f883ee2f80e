// Use: describe.each over `backends`, titled '… on $name', each with its `redisUrl()`. Postgres always; Redis if this
// machine has a redis-server. `redisUrl()` is null on Postgres, and on Redis the address of a database number that no
// other test uses.
import { inject } from 'vitest'

export interface TestBackend {
  readonly name: 'postgres' | 'redis'
  /** REDIS_URL for this backend: null for the queue on Postgres. */
  readonly redisUrl: () => string | null
}

/** True if the run has a Redis. */
const hasRedis = inject('redisPort') !== 0

let given = 0

/** An empty Redis for the caller: a new database number on the run's server. */
function redisUrl(): string {
  if (!hasRedis) throw new Error('expected a redis-server, got none; ask hasRedis first')
  given += 1
  // Files run in separate processes, each with a unique number.
  const number = ((process.pid % 300) * 30 + (given % 30)) % 10_000
  return `redis://127.0.0.1:${inject('redisPort')}/${number}`
}

const postgres: TestBackend = { name: 'postgres', redisUrl: () => null }
const redis: TestBackend = { name: 'redis', redisUrl }

/** The backends that this run can test. */
export const backends: readonly TestBackend[] = hasRedis ? [postgres, redis] : [postgres]
