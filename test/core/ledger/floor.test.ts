import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openAccount, readBooks } from '../../../src/core/ledger/books.ts'
import { Lease } from '../../../src/core/ledger/leases.ts'
import { readAccountSpending } from '../../../src/core/ledger/money.ts'
import { readFunds } from '../../../src/core/ledger/prices.ts'
import { activeStop } from '../../../src/core/ledger/standstill.ts'
import { readAccount } from '../../../src/core/runs/status.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'

const market = { name: 'api.example.com', kind: 'live' } as const

let database: FreshDatabase
let account: number
beforeEach(async () => {
  database = await freshDatabase()
  account = await openAccount(database.db, market)
})
afterEach(() => database.close())

const enter = (floor: number, more: { account?: number; leaseMs?: number } = {}) =>
  Lease.open({ db: database.db, account, leaseMs: 60_000, lanes: 1, ...more, floor })

const onThePages = async (named: string = market.name) => {
  const span = { since: '2026-01-01', until: '2026-01-05', zone: 'UTC' }
  const purses = await readAccountSpending(database.db, span)
  return purses.find((purse) => purse.account === named)?.floor
}

/** The floor as reported by each of its readers. */
async function readings() {
  const { db } = database
  const books = await readBooks(db, account)
  return {
    ledger: books.floor,
    status: (await readAccount(db, market))?.floor,
    forecast: (await readFunds(db, market)).floor,
    page: await onThePages(),
  }
}

describe('the floor in force', () => {
  test('is the highest among live workers, for the ledger, status, a forecast and the pages of desk and report', async () => {
    await enter(300, { leaseMs: -1 })
    await enter(200)
    await enter(100)
    const left = await enter(400)
    await left.close()
    expect(await readings()).toEqual({ ledger: 200, status: 200, forecast: 200, page: 200 })
  })

  test('is unknown without a live worker; the pages show that of the last one', async () => {
    await enter(200, { leaseMs: -1 })
    await enter(100, { leaseMs: -1 })
    expect(await readings()).toEqual({ ledger: 0, status: null, forecast: null, page: 100 })
  })

  test('is shown separately for each account', async () => {
    expect(await onThePages()).toBe(null)
    const sandbox = await openAccount(database.db, { name: 'bundled', kind: 'sandbox' })
    await enter(100)
    await enter(900, { account: sandbox })
    expect(await onThePages()).toBe(100)
    expect(await onThePages('bundled')).toBe(900)
  })

  test('keeps a drain stopped if another worker’s floor is higher than its own', async () => {
    const stands = () => activeStop(database.db, { account, key: 'key', floor: 50 })
    await sql`update accounts set drained_floor = 100`.execute(database.db)
    await sql`insert into stops (account_id, reason) values (${account}, 'credit_floor')`.execute(
      database.db,
    )
    expect(await stands()).toBe(null)
    await enter(100)
    expect(await stands()).toBe('credit_floor')
  })
})
