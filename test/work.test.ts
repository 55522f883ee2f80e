import { sql } from 'kysely'
import { afterEach, describe, expect, test } from 'vitest'
import { startFaulty } from '../src/service/faulty.ts'
import { testMill, type TestMill, type TestMillOptions } from './support/mill.ts'
import { backends } from './support/redis.ts'

const opened: { close: () => Promise<void> }[] = []

afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close()
})

async function openApi(options: Partial<Parameters<typeof startFaulty>[0]> = {}) {
  const api = await startFaulty({ seed: 'work', credits: 10_000, kind: 'live', ...options })
  opened.push(api)
  return api
}

async function openMill(options: TestMillOptions): Promise<TestMill> {
  const mill = await testMill(options)
  opened.push(mill)
  return mill
}

const many = (count: number) => Array.from({ length: count }, (_, index) => `query ${index + 1}`)

describe.each(backends)('a worker with its queue on $name', (backend) => {
  test('buys each query of a run once and ends when nothing is left', async () => {
    const api = await openApi({ cost: 1 })
    const mill = await openMill({ api, backend })
    await mill.plan(many(60))
    const summary = await mill.drain()
    expect(summary).toMatchObject({ finish: 'completed', answered: 60, calls: 60, failed: 0 })
    expect(await mill.states()).toEqual({ answered: 60 })
    expect(api.charges()).toHaveLength(60)
    const { rows } = await sql`select state, spent, reserved from runs`.execute(mill.db)
    expect(rows).toEqual([{ state: 'done', spent: 60, reserved: 0 }])
  })

  test('stops at the floor and leaves every other task open without a try', async () => {
    const api = await openApi({ cost: 1, credits: 130 })
    const mill = await openMill({ api, backend, settings: { MILL_CREDIT_FLOOR: '100' } })
    await mill.plan(many(60))
    const summary = await mill.drain()
    expect(summary.finish).toBe('credit_floor')
    expect(api.least()).toBeGreaterThanOrEqual(100)
    expect(api.least()).toBeLessThanOrEqual(108)
    const states = await mill.states()
    expect((states['open'] ?? 0) + (states['answered'] ?? 0)).toBe(60)
    const { rows } = await sql`
      select count(*) as tried from tasks where state = 'open' and attempts > 0`.execute(mill.db)
    expect(rows).toEqual([{ tried: 0 }])
  })
})
