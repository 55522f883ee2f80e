// Two plain implementations for comparison: a BullMQ worker with fetch and one transaction for each answer, with
// multi-row inserts or with one statement per row. They use the same tables and the same queue, and sort keys to avoid
// deadlocks.
import { createHash } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { Queue, Worker } from 'bullmq'
import { sql } from 'kysely'
import { z } from 'zod'
import type { Database, Transaction } from '../../src/base/database/database.ts'
import { openBenchMill, startStandIn, type Ground } from './ground.ts'
import { startMeter } from './meter.ts'
import { planRun } from './plan.ts'

export interface PlainFigures {
  readonly perSecond: number
  readonly cpu: number
  readonly foreign: number
}

export interface PlainOptions {
  readonly queries: number
  readonly rows: 'multi' | 'single'
  /** Jobs in progress, and answers being written, at the same time. */
  readonly concurrency: number
}

const shape = z.object({
  intent: z.string(),
  sentiment: z.string(),
  clusters: z.array(z.string()),
  entities: z.array(z.object({ name: z.string(), type: z.string() })),
  organic_results: z.array(
    z.object({
      position: z.number(),
      title: z.string(),
      url: z.string(),
      snippet: z.string(),
      domain: z.string(),
    }),
  ),
  related_searches: z.array(z.string()),
  credits_used: z.number(),
  credits_remaining: z.number(),
})
type Body = z.output<typeof shape>

/** One query per job and one transaction per answer; needs Redis, where a job is cheap. */
export async function measurePlain(
  ground: Ground,
  options: PlainOptions,
): Promise<PlainFigures | null> {
  if (ground.redis === null) return null
  const api = await startStandIn(0)
  const mill = await openBenchMill(ground, { api, redis: true, name: 'plain', byKey: false })
  const connection = { host: '127.0.0.1', port: ground.redis.port, maxRetriesPerRequest: null }
  const name = `plain-${options.rows}-${Date.now()}`
  const queue = new Queue<{ task: number; query: string; q: string }>(name, { connection })
  try {
    await planRun(mill.db, options.queries)
    const { rows } = await sql<{ task: number; query: string; q: string }>`
      select t.id as task, q.id as query, q.q from tasks t join queries q on q.id = t.query_id`.execute(
      mill.db,
    )
    const read = startMeter({
      postgres: ground.postgres.pid,
      redis: ground.redis.pid,
      others: [api.pid],
    })
    for (let start = 0; start < rows.length; start += 1000) {
      const jobs = rows.slice(start, start + 1000)
      await queue.addBulk(
        jobs.map((data) => ({ name: 'ask', data, opts: { removeOnComplete: true } })),
      )
    }
    let left = rows.length
    const news = new EventEmitter()
    const worker = new Worker<{ task: number; query: string; q: string }>(
      name,
      async ({ data }) => {
        const url = `${api.url}/v1/search?q=${encodeURIComponent(data.q)}&num=10`
        const response = await fetch(url, { headers: { authorization: `Bearer ${api.key}` } })
        const text = await response.text()
        const body = shape.parse(JSON.parse(text))
        await store(mill.db, { ...data, text, body }, options.rows)
        left -= 1
        if (left === 0) news.emit('done')
      },
      { connection, concurrency: options.concurrency },
    )
    worker.on('failed', (_job, error) => news.emit('error', error))
    await once(news, 'done')
    await worker.close()
    const reading = read()
    const cpu = (reading.node + reading.postgres + reading.redis) / rows.length
    return { perSecond: rows.length / reading.seconds, cpu, foreign: reading.foreign }
  } finally {
    await queue.close()
    await mill.close()
    await api.close()
  }
}

interface Answered {
  readonly task: number
  readonly query: string
  readonly text: string
  readonly body: Body
}

async function store(db: Database, answered: Answered, rows: PlainOptions['rows']): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const call = await insertCall(trx, answered)
    const { body } = answered
    const write = rows === 'multi' ? insertTogether : insertOneByOne
    await write(
      trx,
      'domains',
      dictionary(body.organic_results, ({ domain }) => ({ id: uuid(domain), host: domain })),
    )
    await write(
      trx,
      'pages',
      dictionary(body.organic_results, ({ url, domain }) => ({
        id: uuid(url),
        url,
        url_key: url,
        domain_id: uuid(domain),
      })),
    )
    await write(
      trx,
      'entities',
      dictionary(body.entities, ({ name, type }) => ({ id: uuid(`${name} ${type}`), name, type })),
    )
    await write(
      trx,
      'clusters',
      dictionary(body.clusters, (label) => ({ id: uuid(label), label })),
    )
    await write(
      trx,
      'related_searches',
      dictionary(body.related_searches, (q) => ({ id: uuid(q), q })),
    )
    await write(
      trx,
      'organic_results',
      body.organic_results.map(({ position, title, snippet, url, domain }, index) => ({
        search_id: call,
        ordinal: index + 1,
        position,
        title,
        snippet,
        page_id: uuid(url),
        domain_id: uuid(domain),
      })),
    )
    await write(
      trx,
      'search_entities',
      body.entities.map(({ name, type }, index) => ({
        search_id: call,
        ordinal: index + 1,
        entity_id: uuid(`${name} ${type}`),
      })),
    )
    await write(
      trx,
      'search_clusters',
      body.clusters.map((label, index) => ({
        search_id: call,
        ordinal: index + 1,
        cluster_id: uuid(label),
      })),
    )
    await write(
      trx,
      'search_related_searches',
      body.related_searches.map((q, index) => ({
        search_id: call,
        ordinal: index + 1,
        related_search_id: uuid(q),
      })),
    )
    await sql`update tasks set state = 'answered', search_id = ${call}, finished_at = now() where id = ${answered.task}`.execute(
      trx,
    )
  })
}

async function insertCall(
  trx: Transaction,
  { task, query, text, body }: Answered,
): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into calls (task_id, query_id, account_id, worker, sent_at, finished_at, start_seq, start_total, credits_reserved, credits_used, outcome, class)
    values (${task}, ${query}, 1, 1, now(), now(), 0, 0, 1, ${body.credits_used}, 'settled', '10/-')
    returning id`.execute(trx)
  const call = rows[0]?.id ?? 0
  await sql`insert into raw_answers (call_id, status, body) values (${call}, 200, ${Buffer.from(text)})`.execute(
    trx,
  )
  await sql`
    insert into searches (id, call_id, task_id, query_id, fetched_at, credits_used, credits_remaining, result_count, origin, api, intent, sentiment)
    values (${call}, ${call}, ${task}, ${query}, now(), ${body.credits_used}, ${body.credits_remaining}, ${body.organic_results.length}, 'live', 'bench', ${body.intent}, ${body.sentiment})`.execute(
    trx,
  )
  return call
}

type Row = Readonly<Record<string, unknown>>

async function insertTogether(
  trx: Transaction,
  table: string,
  rows: readonly Row[],
): Promise<void> {
  const [first] = rows
  if (first === undefined) return
  const columns = Object.keys(first)
  const values = rows.map((row) => sql`(${sql.join(columns.map((column) => row[column]))})`)
  await sql`
    insert into ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))})
    values ${sql.join(values)}
    on conflict do nothing`.execute(trx)
}

async function insertOneByOne(
  trx: Transaction,
  table: string,
  rows: readonly Row[],
): Promise<void> {
  for (const row of rows) await insertTogether(trx, table, [row])
}

/** Removes duplicate entries and sorts them by id. */
function dictionary<T>(items: readonly T[], rowOf: (item: T) => Row & { id: string }): Row[] {
  const rows = new Map(items.map((item) => [rowOf(item).id, rowOf(item)] as const))
  return [...rows.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

function uuid(text: string): string {
  return createHash('md5').update(text).digest('hex')
}
