// @module-tag slow
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { Market } from './market.ts'
import { promise } from './promise.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
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

/** Two accounts, each with a run of one list whose budget they share. */
async function openMarkets(
  terms: { balance: number; budget: number | null; most: number | null },
  budget: number | null,
) {
  const { rows } = await sql<{ id: number }>`
    insert into lists (name, source, budget) values (gen_random_uuid(), 'list.csv', ${budget}) returning id`.execute(
    database.db,
  )
  const list = rows[0]?.id ?? 0
  const open = () => Market.open(database.db, { list, ...terms })
  return { list, markets: [await open(), await open()] as const }
}

/** Credits used or reserved by all runs of a list. */
async function drawnBy(list: number): Promise<number> {
  const { rows } = await sql<{ gone: number }>`
    select sum(spent + reserved)::float8 as gone from runs where list_id = ${list}`.execute(
    database.db,
  )
  return rows[0]?.gone ?? 0
}

test('workers of two accounts with interleaved reads, decisions and writes keep floor, budgets, cap and ledger in the real statements', async () => {
  const life = fc.record({
    balance: fc.integer({ min: 0, max: 70 }),
    budget: fc.constantFrom(null, null, 30),
    listBudget: fc.constantFrom(null, 25, 40),
    most: fc.constantFrom(null, null, 2),
    steps: fc.array(fc.nat({ max: 2 ** 20 }), { minLength: 12, maxLength: 40, size: 'max' }),
  })
  const kept = fc.asyncProperty(life, async ({ listBudget, steps, ...terms }) => {
    const { list, markets } = await openMarkets(terms, listBudget)
    for (const step of steps) {
      const luck = Math.floor(step / deeds.length)
      // Usually one at a time, and sometimes both at the same moment.
      const [one, other] = luck % 2 === 0 ? markets : markets.toReversed()
      const deed = deeds[step % deeds.length]
      await Promise.all(
        [one, ...(luck % 3 === 0 ? [other] : [])].map(async (market) => {
          if (market !== undefined) await deed?.(market, luck)
        }),
      )
      for (const market of markets) await market.check()
      const gone = await drawnBy(list)
      promise(gone <= (listBudget ?? Infinity), () => `${gone} of ${listBudget} are drawn`)
    }
  })
  const found = await fc.check(kept, { numRuns: 60, seed: 5, endOnFailure: true })
  expect(fc.defaultReportMessage(found) ?? 'kept').toBe('kept')
  expect(found.numRuns).toBe(60)
})
