// Measures each part of the main path alone, with the program's code. The sum is the cost of the whole without
// overhead.
import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { type CallName, type Entry, settleCalls } from '../../src/core/ledger/settle.ts'
import { reserve } from '../../src/core/ledger/reserve.ts'
import { Lease } from '../../src/core/ledger/leases.ts'
import { spenderOf } from '../../src/core/worker/worker.ts'
import { WriteAheadLog } from '../../src/core/worker/write-ahead-log.ts'
import { pause } from '../../src/base/waiting.ts'
import { mostTogether } from '../../src/core/worker/batch.ts'
import type { Query } from '../../src/base/query.ts'
import { openApi } from '../../src/core/search/call.ts'
import { openLanes } from '../../src/core/search/concurrency.ts'
import { judge } from '../../src/core/search/verdict.ts'
import { storeAnswers, type StoredAnswer } from '../../src/core/answers/store.ts'
import { openAccount } from '../../src/core/ledger/books.ts'
import { endRound, openTasks } from '../../src/core/queue/open-slices.ts'
import { unsentCall } from '../../src/core/ledger/entry.ts'
import { openBenchMill, type BenchMill, type Ground, type StandIn } from './ground.ts'
import { startMeter, type Reading } from './meter.ts'
import { planRun } from './plan.ts'
import { sampleBody } from './sample.ts'

/** CPU of one query in microseconds, for one part of the main path. */
export interface Component {
  readonly node: number
  readonly postgres: number
  readonly redis: number
  readonly sum: number
  readonly perSecond: number
  readonly foreign: number
}

const slice = 25
const batch = mostTogether
/** At 2,400 answers per second. */
const perFlush = 24
const flushMs = 10

function per(reading: Reading, count: number): Component {
  const node = reading.node / count
  const postgres = reading.postgres / count
  const redis = reading.redis / count
  const perSecond = count / reading.seconds
  return {
    node,
    postgres,
    redis,
    sum: node + postgres + redis,
    perSecond,
    foreign: reading.foreign,
  }
}

interface Scene {
  readonly ground: Ground
  readonly api: StandIn
  readonly redis: boolean
}

async function withMill<T>(scene: Scene, use: (mill: BenchMill) => Promise<T>): Promise<T> {
  const mill = await openBenchMill(scene.ground, { ...scene, name: 'bench' })
  try {
    return await use(mill)
  } finally {
    await mill.close()
  }
}

function meterOf({ ground, redis }: Scene): () => Reading {
  return startMeter({
    postgres: ground.postgres.pid,
    ...(redis && ground.redis !== null ? { redis: ground.redis.pid } : {}),
  })
}

/** Adding slices to the queue, and delivering them to a worker that does nothing. */
export function measureQueue(scene: Scene, queries: number): Promise<Component> {
  return withMill(scene, async (mill) => {
    const queue = await mill.queue()
    const jobs = Array.from({ length: queries / slice }, (_, index) => ({
      run: 1,
      slice: index,
      round: 0,
      priority: 5,
      turn: null,
    }))
    const read = meterOf(scene)
    await queue.add(jobs)
    let left = jobs.length
    const news = new EventEmitter()
    const consumer = queue.consume(async () => {
      left -= 1
      if (left === 0) news.emit('done')
    }, 4)
    await once(news, 'done')
    await consumer.close()
    return per(read(), queries)
  })
}

/** Reading the open tasks of each slice, and ending its round. */
export function measureSlices(scene: Scene, queries: number): Promise<Component> {
  return withMill(scene, async (mill) => {
    const run = await planRun(mill.db, queries)
    const read = meterOf(scene)
    for (let number = 0; number < queries / slice; number += 1) {
      await openTasks(mill.db, { run, slice: number, round: 0 })
      await endRound(mill.db, { run, slice: number, round: 0 })
    }
    return per(read(), queries)
  })
}

/** The paid call and the parsing of its reply. */
export async function measureCalls({ api }: Scene, queries: number): Promise<Component> {
  const { Secret } = await import('../../src/base/secret.ts')
  const options = {
    url: new URL(api.url),
    key: new Secret(api.key),
    timeoutMs: 30_000,
    lanes: batch,
  }
  const client = openApi(options)
  const lanes = openLanes(batch)
  const ask = async (number: number) => {
    const query = queryOf(number)
    return judge(await lanes.run(() => client.call(query)), query)
  }
  await Promise.all(Array.from({ length: 500 }, (_, number) => ask(number)))
  const read = startMeter({})
  await Promise.all(Array.from({ length: queries }, (_, number) => ask(number)))
  const component = per(read(), queries)
  await client.close()
  return component
}

function queryOf(number: number): Query {
  return { q: `query ${number}`, location: null, hl: null, gl: null, num: 10, device: null }
}

/** Storing answers with two writers, in transactions as large as a busy worker writes. */
export function measureStoring(scene: Scene, queries: number): Promise<Component> {
  const answers = Array.from({ length: queries }, (_, number) => numberedAnswer(number))
  return withMill(scene, async (mill) => {
    const read = meterOf(scene)
    await storeAll(mill, inBatches(answers))
    return per(read(), queries)
  })
}

/** Writes all batches, two at a time, as the worker does. */
export async function storeAll(mill: BenchMill, batches: StoredAnswer[][]): Promise<void> {
  const write = async () => {
    for (let next = batches.pop(); next !== undefined; next = batches.pop()) {
      const together = next
      await mill.db.transaction().execute((trx) => storeAnswers(trx, together))
    }
  }
  await Promise.all([write(), write()])
}

/** An answer with its body, as the pipeline passes it on. */
export function numberedAnswer(number: number): StoredAnswer {
  const query = queryOf(number)
  const reply = replyTo(number)
  const { body, receivedAt } = reply
  const { answer } = judge(reply, query)
  if (answer === null) throw new Error('expected the sample to be an answer')
  return {
    callId: number + 1,
    status: 200,
    receivedAt,
    truncated: false,
    body,
    search: {
      taskId: number + 1,
      queryId: '00000000-0000-0000-0000-000000000000',
      origin: 'live',
      api: 'bench',
      answer,
    },
  }
}

function replyTo(number: number) {
  return {
    kind: 'response',
    status: 200,
    body: sampleBody(number, queryOf(number).q),
    truncated: false,
    retryAfter: null,
    replayMs: null,
    receivedAt: new Date(),
  } as const
}

/** Writing replies to the write-ahead log, with as many per flush as arrive in that time. */
export async function measureLog(queries: number): Promise<Component> {
  const folder = mkdtempSync(join(tmpdir(), 'querymill-bench-log-'))
  const provenance = { origin: 'live', api: 'bench' } as const
  const log = new WriteAheadLog({ folder, installation: 'bench', provenance, bytes: 64 * 2 ** 20 })
  const replies = Array.from({ length: queries }, (_, number) => replyTo(number))
  const read = startMeter({})
  for (let first = 0; first < queries; first += perFlush) {
    const group = replies.slice(first, first + perFlush)
    await Promise.all(
      group.map((reply, index) => log.append({ id: first + index, mark: randomUUID() }, reply)),
    )
    await pause(flushMs)
    log.settle(group.map((_, index) => first + index))
  }
  const component = per(read(), queries)
  await log.close()
  rmSync(folder, { recursive: true })
  return component
}

/** Groups items as large as a batch of the worker. */
export function inBatches<T>(items: readonly T[]): T[][] {
  const count = Math.ceil(items.length / batch)
  return Array.from({ length: count }, (_, index) =>
    items.slice(index * batch, (index + 1) * batch),
  )
}

/** Reserving groups of calls and settling them in batches, without storing answers. */
export function measureLedger(scene: Scene, queries: number): Promise<Component> {
  return withMill(scene, async (mill) => {
    await planRun(mill.db, queries)
    const account = await openAccount(mill.db, { name: mill.supplier.account, kind: 'live' })
    const lease = await Lease.open({
      db: mill.db,
      account,
      floor: 0,
      lanes: batch,
      leaseMs: 600_000,
    })
    const clerk = { account, key: 'bench', floor: 0, rebuy: true }
    await knowThePrice(mill, account)
    const { rows } = await sql<{ id: number }>`select id from tasks order by id`.execute(mill.db)
    const groups = inBatches(rows.map(({ id }) => ({ task: id, class: '10/-', priority: 5 })))
    let bought = 0
    const spend = async () => {
      // Two instances read the ledger side by side, which no worker does, because each caches what it has read.
      const spender = spenderOf(mill, { account, worker: lease.worker, key: 'bench' })
      for (let next = groups.pop(); next !== undefined; next = groups.pop()) {
        const { granted } = await reserve(mill.db, spender, next)
        await settleCalls(mill.db, clerk, [...granted.values()].map(settledCall))
        bought += granted.size
      }
    }
    const read = meterOf(scene)
    await Promise.all([spend(), spend()])
    const component = per(read(), queries)
    if (bought !== queries) throw new Error(`expected ${queries} calls, got ${bought}`)
    await lease.close()
    return component
  })
}

/** Sets a known balance and price, so that no call has to go out alone. */
export async function knowThePrice(mill: BenchMill, account: number): Promise<void> {
  await sql`
    update accounts
    set seq = 1, obs_seq = 1, obs_at = clock_timestamp() + interval '1 hour', obs_remaining = 1000000000
    where id = ${account}`.execute(mill.db)
  await sql`
    insert into account_costs (account_id, class, dearest, cheapest, seen, earlier_first, earlier_second, earlier_count)
    values (${account}, '10/-', 1, 1, 30, 1, 1, 30)`.execute(mill.db)
}

export function settledCall(call: CallName): Entry {
  return {
    ...unsentCall(call),
    ending: { kind: 'settled', used: 1, remaining: null, priced: true },
    effect: { kind: 'answered' },
    httpStatus: 200,
    creditsUsed: 1,
    code: null,
    message: null,
  }
}
