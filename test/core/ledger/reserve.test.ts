import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { reserve } from '../../../src/core/ledger/reserve.ts'
import { spender } from './books.ts'
import { day, openDesk } from './desk.ts'

const wanted = [1, 2, 3].map((task) => ({ task, class: '10/-', priority: 5 }))
const buyer = () => spender({ dayOf: () => ({ day, ends: 4_000_000_000_000 }), dailyBudget: 1_000 })

test('a worker with an expired lease is told so, and reserves nothing', async () => {
  const { db, meanwhile, account } = await openDesk()
  await meanwhile(`update workers set lease_until = now() - interval '1 second'`)
  const { granted, deferral: rest } = await reserve(db, buyer(), wanted)
  expect([granted.size, rest]).toEqual([0, { kind: 'no_lease' }])
  expect(await account()).toMatchObject({ reserved: 0, inFlight: 0 })
})

test('of two workers that decide on the same tasks at once, one gets them, and the other decides again', async () => {
  const { db, account } = await openDesk()
  const stalled = await db.startTransaction().execute()
  await sql`select from accounts where id = 1 for update`.execute(stalled)
  const both = Promise.all([reserve(db, buyer(), wanted), reserve(db, buyer(), wanted)])
  const waiting = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::integer as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    return rows[0]?.count
  }
  await expect.poll(waiting).toBe(2)
  await stalled.rollback().execute()
  const [first, second] = (await both).toSorted((a, b) => b.granted.size - a.granted.size)
  expect(new Set(first?.granted.keys())).toEqual(new Set([1, 2, 3]))
  expect(second?.granted.size).toBe(0)
  expect(new Set(second?.later)).toEqual(new Set([1, 2, 3]))
  expect(await account()).toMatchObject({ reserved: 15, inFlight: 3 })
})
