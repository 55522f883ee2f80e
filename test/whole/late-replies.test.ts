import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Lease } from '../../src/core/ledger/leases.ts'
import { Secret } from '../../src/base/secret.ts'
import { spenderOf } from '../../src/core/worker/worker.ts'
import { reserve, saveReservation } from '../../src/core/ledger/reserve.ts'
import { openDatabase, openPool } from '../../src/base/database/database.ts'
import { openAccount, readBooks } from '../../src/core/ledger/books.ts'
import { readWaiting } from '../../src/core/ledger/waiting.ts'
import { openScene, queries } from '../support/scene.ts'
import { openWire } from '../support/wire.ts'
import { patienceMs } from '../support/patience.ts'

// A worker requests calls, and the database's reply is late, lost, or overtaken by changes of other processes.

async function openWorker({ account: name }: { account?: string } = {}) {
  const { api, mill } = await openScene()
  await mill.plan(queries(30))
  // The first calls go out alone, to learn balance and price.
  await mill.drain()
  await mill.plan(queries(40).slice(30))
  const account = await openAccount(mill.db, { name: name ?? mill.supplier.account, kind: 'live' })
  const lease = await Lease.open({ db: mill.db, account, floor: 0, lanes: 8, leaseMs: 60_000 })
  // The key that received the balance; another one would first send one call alone.
  const key = new Secret(api.key).fingerprint()
  const spender = spenderOf(mill, { account, worker: lease.worker, key })
  const rules = { account, key, floor: 0, rebuy: true }
  const { rows } = await sql<{ id: number }>`
    select id from tasks where state = 'open' order by id`.execute(mill.db)
  const wanted = rows.map(({ id }) => ({ task: id, class: '10/-', priority: 5 }))
  /** Calls of this worker by outcome, after it has released those that it gave up. */
  const outcomes = async () => {
    await lease.release(spender)
    const found = await sql<{ outcome: string | null }>`
      select outcome from calls where worker = ${lease.worker} order by id`.execute(mill.db)
    return found.rows.map(({ outcome }) => outcome)
  }
  return { api, mill, lease, spender, rules, wanted, outcomes }
}

/** The same database through a connection that the test controls. */
async function overWire(url: string) {
  const wire = await openWire(url)
  onTestFinished(wire.close)
  const pool = openPool(wire.url, { name: 'test', max: 1, ledger: true })
  const db = openDatabase(pool, { byKey: true })
  await sql`select 1`.execute(db)
  return { wire, db }
}

describe('a reservation with a late reply', () => {
  test('is not released as unsent while the worker still waits for it and then sends its calls', async () => {
    const { mill, spender, wanted, outcomes } = await openWorker()
    const { wire, db } = await overWire(mill.databaseUrl)
    const began = await sql<{
      calls: number
    }>`select count(*)::integer as calls from calls`.execute(mill.db)
    // After it has read the ledger, so that the next reply is that to the reservation.
    wire.holdReplies(() => spender.begun.seq > 0)
    const reserving = reserve(db, spender, wanted)
    await expect
      .poll(async () => {
        const now = await sql<{
          calls: number
        }>`select count(*)::integer as calls from calls`.execute(mill.db)
        return now.rows[0]?.calls
      })
      .toBeGreaterThan(began.rows[0]?.calls ?? 0)
    expect(await outcomes()).toEqual(wanted.map(() => null))
    wire.letGo()
    const { granted } = await reserving
    expect(granted.size).toBe(wanted.length)
    expect(await outcomes()).toEqual(wanted.map(() => null))
  })

  test('is given up when its connection breaks, and no released call is sent', async () => {
    const { mill, spender, wanted, outcomes } = await openWorker()
    const { wire, db } = await overWire(mill.databaseUrl)
    // After it has read the ledger, so that the next reply is that to the reservation.
    wire.holdReplies(() => spender.begun.seq > 0)
    const reserving = reserve(db, spender, wanted)
    const failed = reserving.then(() => null).catch((error: unknown) => error)
    await expect.poll(async () => (await outcomes()).length).toBe(wanted.length)
    expect(spender.givenUp.size).toBe(0)
    await wire.close()
    expect(await failed).toBeInstanceOf(Error)
    expect(spender.givenUp.size).toBe(wanted.length)
    expect(await outcomes()).toEqual(wanted.map(() => 'unsent'))
  })
})

describe('a decision overtaken by others', () => {
  test('is not written: the tasks were bought in the meantime, from another account', async () => {
    const slow = await openWorker({ account: 'another' })
    const { mill, spender, wanted, api } = slow
    const ids = wanted.map(({ task }) => task)
    const books = await readBooks(mill.db, spender.account)
    const read = await readWaiting(mill.db, { ...spender, tasks: ids })
    // This worker is frozen here, and all others continue.
    await mill.drain()
    const charges = api.charges().length
    const calls = await saveReservation(mill.db, {
      ...{
        account_id: spender.account,
        worker: spender.worker,
        origin: 'live',
        key: 'key',
        floor: 0,
      },
      ...{ api: spender.api, counts: false, external: 0, version: books.version, steady: false },
      state: {
        ...{ drained_floor: null, blind_calls: 0, probe_granted: false, last_probe_at_ms: null },
        ...{ rate_next_at_ms: null, day: null, day_spent: 0, month: null, month_spent: 0 },
      },
      ...{ stops: [], cleared: [], trying: [], reused: [], given_up: [], spent_runs: [] },
      ...{ spent_by_list: [], most_in_flight: null },
      tasks: read.tasks.map(({ id, version, query_id: query }) => ({
        ...{ id, version, query, reused: false },
      })),
      runs: [],
      grants: read.tasks.map(({ id, query_id: query }, index) => ({
        ...{ task: id, query, mark: crypto.randomUUID(), place: index + 1 },
        ...{ class: '10/-', bound: 1, probe: false, max_age_ms: 0 },
      })),
    })
    expect(calls).toBe(null)
    expect(new Set((await reserve(mill.db, spender, wanted)).gone)).toEqual(new Set(ids))
    expect(api.charges()).toHaveLength(charges)
  })

  test('leaves a run within its budget, although two accounts work on it at once', async () => {
    const { api, mill } = await openScene({
      api: { delayMs: 20 },
      settings: { MILL_CREDIT_FLOOR: '0' },
    })
    const run = await mill.plan(queries(150), { budget: 48 })
    const other = { ...mill, supplier: { ...mill.supplier, account: 'another' } }
    const { work } = await import('../../src/core/worker/work.ts')
    const options = {
      drain: true,
      lanes: 16,
      signal: AbortSignal.timeout(patienceMs),
      report: () => undefined,
    }
    await Promise.all([work(mill, options), work(other, options)])
    const spent = api.charges().reduce((sum, { charged }) => sum + charged, 0)
    expect(spent).toBeLessThanOrEqual(48)
    const { rows } = await sql<{ spent: number }>`select spent from runs where id = ${run}`.execute(
      mill.db,
    )
    expect(rows).toEqual([{ spent }])
  })
})
