// const mill = await testMill({ api: faulty, backend, settings }) → a Mill with its own database, for work() in this
// process. `mill.plan(['a', 'b'])` creates a run of these queries; `mill.drain()` works on it; `mill.close()` removes
// everything.
import { endNights } from '../../src/features/alerts/find-alerts.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Pool } from 'pg'
import { type Database, openDatabase } from '../../src/base/database/database.ts'
import { type Environment, readConfig } from '../../src/base/config.ts'
import { costClass } from '../../src/core/ledger/account.ts'
import { type Mill, supplierOf } from '../../src/core/mill.ts'
import { openPart, sliceConnections } from '../../src/core/queue/queue.ts'
import { defaultNum, type Query, queryId, queryKey } from '../../src/base/query.ts'
import { openQueue, type SliceQueue } from '../../src/core/queue/slice-jobs.ts'
import { rebuild } from '../../src/core/runs/rebuild.ts'
import { installationId } from '../../src/core/queue/open-slices.ts'
import type { Summary } from '../../src/core/worker/summary.ts'
import { work, type WorkOptions } from '../../src/core/worker/work.ts'
import { freshDatabase, type FreshDatabase } from './database.ts'
import type { TestBackend } from './redis.ts'

export interface TestMill extends Mill {
  readonly redisUrl: string | null
  /** Settings for a command that uses the same database and API. */
  readonly env: Environment
  readonly plan: (
    queries: readonly Partial<Query>[] | readonly string[],
    run?: PlanOptions,
  ) => Promise<number>
  readonly drain: (options?: Partial<WorkOptions>) => Promise<Summary>
  /** Tasks by state. */
  readonly states: () => Promise<Record<string, number>>
  readonly close: () => Promise<void>
}

export interface PlanOptions {
  readonly list?: string
  readonly priority?: number
  readonly budget?: number
  readonly maxAgeMs?: number
}

export interface TestMillOptions {
  readonly api: { readonly url: string; readonly key: string }
  readonly backend?: TestBackend
  readonly settings?: Environment
  readonly database?: FreshDatabase
}

export async function testMill(options: TestMillOptions): Promise<TestMill> {
  const database = options.database ?? (await freshDatabase())
  const redisUrl = options.backend?.redisUrl() ?? null
  const home = mkdtempSync(join(tmpdir(), 'querymill-test-'))
  const env = {
    DATABASE_URL: database.url,
    MILL_HOME: home,
    SEARCH_API_URL: options.api.url,
    SEARCH_API_KEY: options.api.key,
    ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }),
    ...options.settings,
  }
  const config = readConfig(env)
  const installation = await installationId(database.db)
  let queue: Promise<SliceQueue> | undefined
  const place = { config, databaseUrl: database.url, installation }
  const mill: Mill = {
    config,
    db: keyedDatabase(database.pool),
    pool: database.pool,
    databaseUrl: database.url,
    installation,
    supplier: supplierOf(config),
    queue: () => (queue ??= openPart(place, sliceConnections, openQueue)),
    api: async () => {
      if (config.api === null) throw new Error('expected an API in the settings of a test')
      return config.api
    },
  }
  return {
    ...mill,
    redisUrl,
    env,
    plan: async (queries, run = {}) => {
      const id = await planRun(database, queries.map(queryOf), run)
      await rebuild(mill, id)
      return id
    },
    drain: (over = {}) =>
      work(mill, {
        drain: true,
        lanes: config.concurrency,
        signal: new AbortController().signal,
        report: () => undefined,
        afterRuns: endNights,
        ...over,
      }),
    states: () => countStates(database),
    close: async () => {
      if (queue !== undefined) await (await queue).close()
      if (options.database === undefined) await database.close()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

const keyedDatabases = new WeakMap<Pool, Database>()

/**
 * The database as opened by workers, which cache plans. One for each pool, because plan names belong to a connection.
 */
function keyedDatabase(pool: Pool): Database {
  const known = keyedDatabases.get(pool) ?? openDatabase(pool, { byKey: true })
  keyedDatabases.set(pool, known)
  return known
}

function queryOf(given: Partial<Query> | string): Query {
  const nothing = { location: null, hl: null, gl: null, device: null, num: defaultNum }
  return typeof given === 'string' ? { q: given, ...nothing } : { q: '', ...nothing, ...given }
}

/** A run of these queries, in slices of 25, as created by planning. */
async function planRun(
  { db }: FreshDatabase,
  queries: readonly Query[],
  { list = 'test', priority = 5, budget, maxAgeMs = 0 }: PlanOptions,
): Promise<number> {
  const rows = queries.map((query, index) => {
    const key = queryKey(query)
    return {
      ...query,
      id: queryId(key),
      key,
      slice: Math.floor(index / 25),
      class: costClass(query),
    }
  })
  const { rows: made } = await sql<{ id: number }>`
    with given as (
      select *
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as g (
        id uuid, key text, q text, location text, hl text, gl text, num integer, device text, slice integer
      )
    ),
    new_list as (
      insert into lists (name, source) values (${list}, ${`${list}.csv`})
      on conflict (name) do update set source = excluded.source
      returning id
    ),
    new_queries as (
      insert into queries (id, key, q, location, hl, gl, num, device)
      select distinct on (id) id, key, q, location, hl, gl, num, device from given
      on conflict do nothing
    ),
    new_run as (
      insert into runs (list_id, run_date, kind, state, budget, max_age_ms, rows, accepted)
      select id, current_date, 'nightly', 'open', ${budget ?? null}, ${maxAgeMs}, ${rows.length}, ${rows.length}
      from new_list
      returning id
    ),
    new_slices as (
      insert into slices (run_id, slice, priority)
      select distinct new_run.id, given.slice, ${priority}::smallint from given, new_run
    )
    insert into tasks (run_id, query_id, slice, priority)
    select new_run.id, given.id, given.slice, ${priority} from given, new_run
    order by given.slice
    returning run_id as id`.execute(db)
  const run = made[0]?.id
  if (run === undefined) throw new Error('expected a run with tasks, got none')
  return run
}

async function countStates({ db }: FreshDatabase): Promise<Record<string, number>> {
  const { rows } = await sql<{ state: string; count: number }>`
    select state, count(*) as count from tasks group by state`.execute(db)
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}
