import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openAccount } from '../../../src/core/ledger/books.ts'
import { entryOf, unsentCall } from '../../../src/core/ledger/entry.ts'
import { reserve } from '../../../src/core/ledger/reserve.ts'
import { Lease } from '../../../src/core/ledger/leases.ts'
import { type SettlementRules, settleCalls } from '../../../src/core/ledger/settle.ts'
import { spenderOf } from '../../../src/core/worker/worker.ts'
import { verifyPromises } from '../../support/promises.ts'
import { queries } from '../../support/scene.ts'
import { openLedger, outlive } from '../worker/ledger.ts'
import { bought, response } from '../worker/pieces.ts'

describe('a lease', () => {
  test('covers calls that end before it does, and later ones after each heartbeat', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const { hire } = await openLedger()
    const lease = await hire(10_000)
    expect([lease.covers(9_000, lease.term), lease.covers(10_000, lease.term)]).toEqual([
      true,
      false,
    ])
    vi.advanceTimersByTime(5_000)
    expect(lease.covers(9_000, lease.term)).toBe(false)
    await lease.beat()
    expect([lease.covers(9_000, lease.term), lease.covers(10_000, lease.term)]).toEqual([
      true,
      false,
    ])
  })

  test('covers nothing after the machine slept, although its monotonic clock stood still', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const { hire } = await openLedger()
    const lease = await hire(60_000)
    vi.setSystemTime(Date.now() + 3_600_000)
    expect(lease.covers(1_000, lease.term)).toBe(false)
    await lease.beat()
    expect(lease.covers(1_000, lease.term)).toBe(true)
    vi.setSystemTime(Date.now() - 3_600_000)
    expect(lease.covers(61_000, lease.term)).toBe(false)
  })

  test('of a worker whose number now belongs to another one is neither extended nor ended, because the database was restored', async () => {
    const { hire, mill } = await openLedger()
    const lease = await hire()
    await sql`update workers set pid = pid + 1 where id = ${lease.worker}`.execute(mill.db)
    const state = async () => {
      const { rows } = await sql<{ lease_until: Date; stopped_at: Date | null }>`
        select lease_until, stopped_at from workers where id = ${lease.worker}`.execute(mill.db)
      return rows
    }
    const before = await state()
    await expect(lease.beat()).rejects.toThrow(/worker \S+ is missing/)
    await lease.close()
    expect(await state()).toEqual(before)
  })

  test('is extended by a heartbeat on the database clock, and ended when it is closed', async () => {
    const ledger = await openLedger()
    const lease = await ledger.hire()
    await outlive(ledger, lease)
    const state = async () => {
      const { rows } = await sql<{ alive: boolean; stopped: boolean }>`
        select lease_until > clock_timestamp() as alive, stopped_at is not null as stopped
        from workers where id = ${lease.worker}`.execute(ledger.mill.db)
      return rows[0]
    }
    expect(await state()).toEqual({ alive: false, stopped: false })
    await lease.beat()
    expect(await state()).toEqual({ alive: true, stopped: false })
    await lease.close()
    expect(await state()).toMatchObject({ stopped: true })
  })
})

describe('calls in flight', () => {
  test('of a worker with an expired lease are given up by any other, and counted as its death', async () => {
    const ledger = await openLedger()
    const { clerk, hire, reserveCall, callOf } = ledger
    const [dead, alive] = [await hire(), await hire()]
    const call = await reserveCall(dead)
    expect(await alive.reap(clerk)).toBe(0)
    await outlive(ledger, dead)
    expect(await alive.reap(clerk)).toBe(1)
    expect(await callOf(call)).toEqual({ outcome: 'unknown', task: 'open', deaths: 1, attempts: 1 })
    expect(await alive.reap(clerk)).toBe(0)
  })

  test('of a dead worker with hundreds of lanes are all given up at once', async () => {
    const ledger = await openLedger({ MILL_CREDIT_FLOOR: '0' })
    const { mill, clerk, hire } = ledger
    // Balance and price must be known before hundreds of calls are granted.
    await mill.plan(queries(30).map((q) => `known ${q}`))
    await mill.drain()
    await mill.plan(queries(250).map((q) => `lost ${q}`))
    const [dead, alive] = [await hire(), await hire()]
    const { account } = clerk
    const { keys } = await mill.db.selectFrom('accounts').select('keys').executeTakeFirstOrThrow()
    const spender = spenderOf(mill, { account, worker: dead.worker, key: keys[0] ?? '' })
    const open = await mill.db
      .selectFrom('tasks')
      .select('id')
      .where('state', '=', 'open')
      .execute()
    const wanted = open.map(({ id }) => ({ task: id, class: '10/-', priority: 5 }))
    const { granted } = await reserve(mill.db, spender, wanted)
    expect(granted.size).toBe(250)
    await outlive(ledger, dead)
    expect(await alive.reap(clerk)).toBe(250)
    expect(await alive.reap(clerk)).toBe(0)
  })

  test('of a worker that ended normally with one left are given up before its lease ends', async () => {
    const { clerk, hire, reserveCall, callOf } = await openLedger()
    const [gone, alive] = [await hire(), await hire()]
    const call = await reserveCall(gone)
    await gone.close()
    expect(await alive.reap(clerk)).toBe(1)
    expect(await callOf(call)).toMatchObject({ outcome: 'unknown', task: 'open' })
  })

  test('of a worker of another account are given up in the ledger of that account', async () => {
    const ledger = await openLedger()
    const { mill, clerk, hire, reserveCall, callOf } = ledger
    const dead = await hire()
    const call = await reserveCall(dead)
    await outlive(ledger, dead)
    const account = await openAccount(mill.db, { name: 'elsewhere.example', kind: 'live' })
    const stranger = await Lease.open({ db: mill.db, account, floor: 0, lanes: 1, leaseMs: 60_000 })
    // The calls that a worker returns also name its own account.
    const worksFor: SettlementRules = { ...clerk, account }
    expect(await stranger.reap(worksFor)).toBe(1)
    expect(await callOf(call)).toMatchObject({ outcome: 'unknown', task: 'open', deaths: 1 })
  })

  test('whose reservation their own worker gave up are released at no cost, and no others', async () => {
    const { mill, clerk, hire, reserveCall, callOf } = await openLedger()
    const lease = await hire()
    const call = await reserveCall(lease)
    // As after reading an older copy of the database: the call may have been sent, and its mark is unknown.
    await sql`update calls set sent_at = sent_at - interval '1 hour'`.execute(mill.db)
    const givenUp = new Set<string>([randomUUID()])
    await lease.release({ ...clerk, givenUp })
    expect(await callOf(call)).toMatchObject({ outcome: null })
    expect(givenUp.size).toBe(1)
    givenUp.add(call.mark ?? '')
    await lease.release({ ...clerk, givenUp })
    expect(await callOf(call)).toEqual({ outcome: 'unsent', task: 'open', deaths: 0, attempts: 0 })
    expect(givenUp.size).toBe(1)
  })

  test('that were given up stay given up if their worker says later that it never sent them', async () => {
    const ledger = await openLedger()
    const { mill, clerk, hire, reserveCall, callOf } = ledger
    const [dead, alive] = [await hire(), await hire()]
    const call = await reserveCall(dead)
    await outlive(ledger, dead)
    await alive.reap(clerk)
    await settleCalls(mill.db, clerk, [unsentCall(call)])
    expect(await callOf(call)).toEqual({ outcome: 'unknown', task: 'open', deaths: 1, attempts: 1 })
    const checks = await verifyPromises(mill.db)
    expect(checks.filter(({ ok }) => !ok)).toEqual([])
  })

  test('that were given up and then answered without a price violate no check', async () => {
    const ledger = await openLedger()
    const { mill, clerk, hire, reserveCall, callOf } = ledger
    const [dead, alive] = [await hire(), await hire()]
    const call = await reserveCall(dead)
    await outlive(ledger, dead)
    await alive.reap(clerk)
    const late = bought(1, response(200, { success: true }))
    await settleCalls(mill.db, clerk, [entryOf({ ...late, call }, mill.supplier)])
    expect(await callOf(call)).toMatchObject({ outcome: 'unknown', task: 'answered', attempts: 2 })
    const checks = await verifyPromises(mill.db)
    expect(checks.filter(({ ok }) => !ok)).toEqual([])
  })
})
