import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answered, Provider } from '../../src/service/sell.ts'
import { openTables, type Tables } from '../../src/service/database.ts'
import { type FoundKey, Keys, type NewKey } from '../../src/service/keys.ts'
import { openCredits } from '../../src/service/credits.ts'
import { Refusal } from '../../src/service/refusal.ts'
import { sellAnswer, type Sold } from '../../src/service/sell.ts'
import { readSearch } from '../../src/service/schemas.ts'
import { freshUrl } from '../support/database.ts'

let tables: Tables

beforeAll(async () => {
  tables = await openTables(await freshUrl(), 8)
})
afterAll(() => tables.close())

async function openKey(credits: number): Promise<FoundKey> {
  return await findNew({ kind: 'live', credits })
}

async function findNew(order: NewKey): Promise<FoundKey> {
  const keys = new Keys(tables.pool)
  const key = await keys.find((await keys.create(order)).key)
  if (key === null) throw new Error('expected the key to be found')
  return key
}

function found(results: number): Answered {
  const page = { title: 'T', url: 'https://example.com/', snippet: '', domain: 'example.com' }
  return {
    answer: {
      intent: '',
      sentiment: '',
      clusters: [],
      entities: [],
      related_searches: [],
      organic_results: Array.from({ length: results }, (_, index) => ({
        ...page,
        position: index + 1,
      })),
    },
    ignored: [],
    partial: false,
  }
}

/** A service in this process; the caller determines the number of results. */
function openProcess(answer: () => Promise<Answered>) {
  const provider: Provider = { name: 'try', answer }
  const { pool } = tables
  const shop = { pool, reserveCredits: openCredits(pool), provider, leaseMs: 40_000 }
  return (key: FoundKey, num: number): Promise<Sold | Refusal> => {
    const search = readSearch({ q: 'x', num })
    const gone = new AbortController().signal
    return sellAnswer(shop, { key, search, gone, deadline: soon() }).catch(refusalOf)
  }
}

/** The deadline of a request that arrives now. */
function soon(): number {
  return performance.now() + 20_000
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  throw error
}

async function books(key: FoundKey) {
  const { rows } = await tables.pool.query<{ used: number; held: number; charged: number }>(
    `select used, held, (select coalesce(sum(credits), 0) from usage where account_id = accounts.id) as charged
    from accounts where id = $1`,
    [key.accountId],
  )
  return rows[0]
}

describe('credits with many concurrent requests', () => {
  test('sixty searches that may cost ten and cost one are all answered on a hundred credits', async () => {
    const key = await openKey(100)
    const buy = openProcess(() => Promise.resolve(found(3)))
    const sold = await Promise.all(Array.from({ length: 60 }, () => buy(key, 100)))
    expect(sold.filter((one) => one instanceof Refusal)).toEqual([])
    expect(await books(key)).toEqual({ used: 60, held: 0, charged: 60 })
  })

  test('the reported balance never includes reservations of others', async () => {
    const key = await openKey(100)
    const buy = openProcess(() => Promise.resolve(found(1)))
    const sold = await Promise.all(Array.from({ length: 20 }, () => buy(key, 50)))
    const told = sold.map((one) => (one instanceof Refusal ? -1 : one.remaining))
    expect(told.toSorted((a, b) => b - a)).toEqual(Array.from({ length: 20 }, (_, n) => 99 - n))
  })

  test('two processes on one account sell every credit once and none twice', async () => {
    const key = await openKey(57)
    const open = () => openProcess(() => Promise.resolve(found(1 + Math.floor(Math.random() * 25))))
    const [one, two] = [open(), open()]
    const sold = await Promise.all(
      Array.from({ length: 80 }, (_, index) => (index % 2 === 0 ? one : two)(key, 25)),
    )
    const spent = sold.reduce((sum, each) => sum + (each instanceof Refusal ? 0 : each.used), 0)
    const { used, held, charged } = (await books(key)) ?? {}
    expect([used, held, charged]).toEqual([spent, 0, spent])
    expect(57 - spent).toBeLessThan(3)
    const refused = sold.filter((each): each is Refusal => each instanceof Refusal)
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([402]))
  })

  test('a 402 reports the true balance, and the possible cost of the search', async () => {
    const key = await openKey(9)
    const refused = await openProcess(() => Promise.resolve(found(1)))(key, 100)
    expect(refused).toMatchObject({ status: 402, headers: { 'x-credits-remaining': '9' } })
    expect(refused).toHaveProperty(
      'message',
      'Not enough credits for this search, which can cost 10: 9 left',
    )
  })

  test('a search waits for credits that another process releases', async () => {
    const key = await openKey(10)
    let answer: (answered: Answered) => void = () => undefined
    const slow = openProcess(() => new Promise((resolve) => (answer = resolve)))
    const quick = openProcess(() => Promise.resolve(found(1)))
    const first = slow(key, 100)
    await expect.poll(async () => (await books(key))?.held).toBe(10)
    const second = quick(key, 90)
    answer(found(1))
    expect(await first).toMatchObject({ used: 1, remaining: 9 })
    expect(await second).toMatchObject({ used: 1, remaining: 8 })
  })

  test('many searches that wait for credits wait concurrently, not one after the other', async () => {
    const key = await openKey(10)
    const patienceMs = 500
    const reserve = openCredits(tables.pool, patienceMs)
    const { signal: gone } = new AbortController()
    const want = { key, search: readSearch({ q: 'x', num: 100 }), gone, deadline: soon() }
    await reserve(want)
    const start = performance.now()
    const waiting = Array.from({ length: 40 }, () => reserve(want).catch(refusalOf))
    for (const refused of await Promise.all(waiting)) expect(refused).toHaveProperty('status', 429)
    // One after the other, they would wait for forty times their patience.
    expect(performance.now() - start).toBeLessThan(20 * patienceMs)
  })

  test('a search in progress at the turn of a month is charged to its own month', async () => {
    const key = await findNew({ kind: 'live', plan: 'free' })
    let answer: (answered: Answered) => void = () => undefined
    const slow = openProcess(() => new Promise((resolve) => (answer = resolve)))
    const old = slow(key, 100)
    await expect.poll(async () => (await books(key))?.held).toBe(10)
    await tables.pool.query(
      `with moved as (update usage set period = period - interval '1 month' where account_id = $1)
      update accounts set period = period - interval '1 month' where id = $1`,
      [key.accountId],
    )
    await openProcess(() => Promise.resolve(found(1)))(key, 10)
    answer(found(100))
    expect(await old).toMatchObject({ used: 10, remaining: 999 })
    expect(await books(key)).toEqual({ used: 1, held: 0, charged: 11 })
  })
})

describe('a client that disconnects', () => {
  test('is charged nothing, and its search is cancelled', async () => {
    const key = await openKey(10)
    const gone = new AbortController()
    let told = false
    const provider: Provider = {
      name: 'slow',
      answer: (_search, { signal }) =>
        new Promise(() => signal.addEventListener('abort', () => (told = true))),
    }
    const { pool } = tables
    const shop = { pool, reserveCredits: openCredits(pool), provider, leaseMs: 40_000 }
    const search = readSearch({ q: 'x', num: 10 })
    const order = { key, search, gone: gone.signal, deadline: soon() }
    const selling = sellAnswer(shop, order)
    await expect.poll(async () => (await books(key))?.held).toBe(1)
    gone.abort()
    await expect(selling).rejects.toThrow('disconnected')
    expect(told).toBe(true)
    expect(await books(key)).toEqual({ used: 0, held: 0, charged: 0 })
  })

  test('while it waits for reserved credits leaves the queue', async () => {
    const key = await openKey(10)
    const reserve = openCredits(tables.pool)
    const want = { key, search: readSearch({ q: 'x', num: 100 }), deadline: soon() }
    const { signal: stays } = new AbortController()
    const first = await reserve({ ...want, gone: stays })
    expect(first).toBeGreaterThan(0)
    const leaving = new AbortController()
    const left = reserve({ ...want, gone: leaving.signal })
    leaving.abort()
    await expect(left).rejects.toThrow('disconnected')
    expect(await books(key)).toEqual({ used: 0, held: 10, charged: 0 })
  })
})
