// Servers for benchmarks: started on this machine's loopback interface, with a new database for each benchmark.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Pool } from 'pg'
import { type Environment, readConfig } from '../../src/base/config.ts'
import { ensurePostgres, stopPostgres } from '../../src/base/embedded/postgres.ts'
import { migrateAll, type Mill, supplierOf, workerPool } from '../../src/core/mill.ts'
import { openPart, sliceConnections } from '../../src/core/queue/queue.ts'
import { openQueue, type SliceQueue } from '../../src/core/queue/slice-jobs.ts'
import { root } from '../../src/base/root.ts'
import { openDatabase, openPool } from '../../src/base/database/database.ts'
import { installationId } from '../../src/core/queue/open-slices.ts'
import { endAfterUs } from '../support/leftovers.ts'
import { startRedis, type RedisServer } from '../support/redis-server.ts'

export interface Ground {
  readonly postgres: { readonly url: string; readonly pid: number }
  readonly redis: RedisServer | null
  /** Creates a database with empty tables and returns its address. */
  readonly freshUrl: () => Promise<string>
  /** Drops such a database; otherwise the server would vacuum it during other measurements. */
  readonly drop: (url: string) => Promise<void>
  readonly close: () => Promise<void>
}

/** Starts PostgreSQL, and Redis if it is installed; `close` removes everything. */
export async function openGround(): Promise<Ground> {
  const home = mkdtempSync(join(tmpdir(), 'querymill-bench-'))
  endAfterUs(home)
  const { url, data } = await ensurePostgres(home)
  const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0])
  const redis = await startRedis().catch(() => null)
  const admin = openPool(url, { name: 'bench', max: 1 })
  let number = 0
  const addressOf = (name: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href
  await admin.query('create database template_bench')
  const template = openPool(addressOf('template_bench'), { name: 'bench', max: 4 })
  await migrateAll(template, addressOf('template_bench'))
  await template.end()
  return {
    postgres: { url, pid },
    redis,
    freshUrl: async () => {
      number += 1
      await admin.query(`create database bench_${number} template template_bench`)
      return addressOf(`bench_${number}`)
    },
    drop: async (used) => {
      await admin.query(`drop database ${new URL(used).pathname.slice(1)} with (force)`)
    },
    close: async () => {
      await admin.end()
      await redis?.close()
      await stopPostgres(home)
      rmSync(home, { recursive: true, force: true })
    },
  }
}

export interface StandIn {
  readonly url: string
  readonly key: string
  readonly pid: number
  readonly close: () => Promise<void>
}

/** Starts an API in a separate process that answers at once, or after a fixed time. */
export async function startStandIn(latencyMs: number): Promise<StandIn> {
  const job = join(root, 'jobs', 'stand-in.ts')
  const args = ['--import', 'tsx', job, '--canned', '--latency', String(latencyMs), '--port', '0']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface(child.stdout), 'line')
  const { url, key } = JSON.parse(String(line)) as { url: string; key: string }
  const close = async () => {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
  return { url, key, pid: child.pid ?? 0, close }
}

export interface BenchMill extends Mill {
  readonly pool: Pool
  readonly close: () => Promise<void>
}

/** Opens querymill on a new database, with its queue on either backend and the stand-in as API. */
export async function openBenchMill(
  ground: Ground,
  options: { api: StandIn; redis: boolean; settings?: Environment; name: string; byKey?: boolean },
): Promise<BenchMill> {
  const url = await ground.freshUrl()
  const home = mkdtempSync(join(tmpdir(), 'querymill-bench-home-'))
  const config = readConfig({
    DATABASE_URL: url,
    MILL_HOME: home,
    SEARCH_API_URL: options.api.url,
    SEARCH_API_KEY: options.api.key,
    ...options.settings,
  })
  const { byKey } = { ...workerPool, ...options }
  const pool = openPool(url, { name: options.name })
  const db = openDatabase(pool, { byKey })
  const installation = await installationId(db)
  const onRedis = options.redis && ground.redis !== null
  const redisUrl = onRedis ? `redis://127.0.0.1:${ground.redis.port}` : null
  const place = { config: { redisUrl }, databaseUrl: url, installation }
  let queue: Promise<SliceQueue> | undefined
  return {
    config,
    db,
    pool,
    databaseUrl: url,
    installation,
    supplier: supplierOf(config),
    queue: () => (queue ??= openPart(place, sliceConnections, openQueue)),
    api: async () => {
      if (config.api === null) throw new Error('expected the stand-in in the settings')
      return config.api
    },
    close: async () => {
      if (queue !== undefined) await (await queue).close()
      await pool.end()
      await ground.drop(url)
      rmSync(home, { recursive: true, force: true })
    },
  }
}
