import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../../support/database.ts'
import { Market } from './market.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
  await sql`insert into lists (name, source) values ('list', 'list.csv')`.execute(database.db)
})
afterAll(() => database.close())

const deeds = [
  (market: Market, luck: number) => market.look(luck),
  (market: Market, luck: number) => market.look(luck >>> 2),
  (market: Market, luck: number) => market.reserve(luck),
  (market: Market, luck: number) => market.reserve(luck >>> 3),
  async (market: Market, luck: number) => market.charge(luck),
  async (market: Market, luck: number) => market.charge(luck >>> 1),
  async (market: Market, luck: number) => market.giveUp(luck),
  (market: Market, luck: number) => market.judge(luck),
  (market: Market, luck: number) => market.judge(luck >>> 4),
  (market: Market, luck: number) => market.settle(luck),
  (market: Market) => market.wait(),
]

test('workers whose reads, decisions and writes cross each other keep floor, budget and books in the real statements', async () => {
  const life = fc.record({
    balance: fc.integer({ min: 0, max: 70 }),
    budget: fc.constantFrom(null, null, 30),
    steps: fc.array(fc.nat({ max: 2 ** 20 }), { minLength: 12, maxLength: 40, size: 'max' }),
  })
  const kept = fc.asyncProperty(life, async ({ balance, budget, steps }) => {
    const market = await Market.open(database.db, { balance, budget })
    for (const step of steps) {
      await deeds[step % deeds.length]?.(market, Math.floor(step / deeds.length))
      await market.check()
    }
  })
  const found = await fc.check(kept, { numRuns: 60, seed: 5, endOnFailure: true })
  expect(fc.defaultReportMessage(found) ?? 'kept').toBe('kept')
  expect(found.numRuns).toBe(60)
}, 240_000)
