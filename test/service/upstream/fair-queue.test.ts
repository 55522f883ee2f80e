// @module-tag slow
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { FairQueue } from '../../../src/service/upstream/fair-queue.ts'
import { pause } from '../../../src/base/waiting.ts'
import { openShop, type Reply, type Shop } from '../shop.ts'
import { fakeResult, startFakeSearxng, type FakePage, type FakeSearxng } from './metasearch.ts'

const patient = { timeoutMs: 110_000 }
const seldom = { interval: 5 }

let upstream: FakeSearxng
let shop: Shop
let database: pg.Client
/** Started turns at the upstream without an answer; calling the function of a turn answers it. */
let begun: (() => void)[]

beforeAll(async () => {
  upstream = await startFakeSearxng(0)
  upstream.behave(oneTurnEach)
  const ms = { deadlineMs: 100_000, upstreamMs: 100_000 }
  shop = await openShop({ upstream: 'searxng', searxngUrl: upstream.url, ...ms })
  database = new pg.Client({ connectionString: shop.databaseUrl })
  await database.connect()
  await database.query('set search_path to service')
})
afterAll(async () => {
  await database.end()
  await shop.service.close()
  await upstream.close()
})
beforeEach(() => {
  begun = []
  upstream.asked.length = 0
  upstream.hold(() => new Promise<void>((resolve) => begun.push(resolve)))
})
afterEach(() => releaseAll())

/** One result is requested and found, with enough suggestions, so a search is one turn. */
function oneTurnEach(): FakePage {
  return { results: [fakeResult(1)], suggestions: ['a', 'b', 'c', 'd'] }
}

function releaseAll(): void {
  upstream.hold(Promise.resolve())
  begun.splice(0).forEach((end) => end())
}

function askedFor(text: string): string[] {
  return upstream.asked.flatMap(({ q = '' }) => (q.includes(text) ? [q] : []))
}

/** Admitted searches with this text: credits are reserved for them, and not released yet. */
async function letIn(text: string): Promise<number> {
  const { rowCount } = await database.query(
    "select from usage where credits is null and q like $1 || '%'",
    [text],
  )
  return rowCount ?? 0
}

function search(key: string, q: string, headers = {}): Promise<Reply> {
  return shop.ask(`/v1/search?num=1&q=${encodeURIComponent(q)}`, key, { ...patient, headers })
}

/** Answers the oldest turn at the upstream, and waits until the next one has begun. */
async function oneTurn(): Promise<void> {
  const before = upstream.asked.length
  await expect.poll(() => begun.length, seldom).toBeGreaterThan(0)
  begun.shift()?.()
  await expect.poll(() => upstream.asked.length, seldom).toBeGreaterThan(before)
}

async function books() {
  const { rows } = await database.query<{ used: string; held: string; charged: string }>(
    `select sum(used) as used, sum(held) as held, (select sum(credits) from usage) as charged from accounts`,
  )
  const { used, held, charged } = rows[0] ?? {}
  return { used: Number(used), held: Number(held), charged: Number(charged) }
}

function chargesOf(replies: readonly Reply[]): number {
  return replies.reduce((sum, { json }) => sum + (json.credits_used ?? 0), 0)
}

describe('accounts that share an upstream', () => {
  test('take turns: a customer with one search at a time waits for one turn of each busy account', async () => {
    const [one, two, third] = [await shop.live(), await shop.live(), await shop.live()]
    const before = await books()
    const greedy = [one, two].flatMap((key, who) =>
      Array.from({ length: 30 }, (_, index) => search(key, `greedy ${who} ${index}`)),
    )
    await expect.poll(() => letIn('greedy'), seldom).toBe(60)
    const modest: Reply[] = []
    for (let index = 0; index < 4; index += 1) {
      const q = `modest ${index}`
      const sent = upstream.asked.length
      const reply = search(third, q)
      await expect.poll(() => letIn(q), seldom).toBe(1)
      while (askedFor(q).length === 0) await oneTurn()
      // One turn of each of the two, then its own, plus one for a slot that became free when it arrived.
      expect(upstream.asked.length - sent).toBeLessThanOrEqual(4)
      while ((await letIn(q)) > 0) await oneTurn()
      modest.push(await reply)
    }
    releaseAll()
    const replies = [...modest, ...(await Promise.all(greedy))]
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
    const charged = before.charged + chargesOf(replies)
    expect(await books()).toEqual({ used: charged, held: 0, charged })
  })

  test('are served first in, first out, within each account', async () => {
    const key = await shop.live()
    const replies: Promise<Reply>[] = []
    for (let index = 0; index < 6; index += 1) {
      replies.push(search(key, `in order ${index}`))
      await expect.poll(() => letIn('in order'), seldom).toBe(index + 1)
    }
    releaseAll()
    await Promise.all(replies)
    expect(askedFor('in order')).toEqual(replies.map((_, index) => `in order ${index}`))
  })
})

describe('a search that cannot be answered before its deadline', () => {
  test('is refused with 429 and Retry-After while earlier ones still wait, and costs nothing', async () => {
    const slow = await openShop({
      databaseUrl: shop.databaseUrl,
      upstream: 'searxng',
      searxngUrl: upstream.url,
      upstreamMs: 20_000,
    })
    const key = await slow.live()
    const before = await books()
    upstream.hold(() => pause(500))
    // The upstream takes half a second, so forty turns on two slots take ten seconds.
    const first = await slow.ask('/v1/search?num=1&q=first', key, patient)
    upstream.hold(() => new Promise<void>((resolve) => begun.push(resolve)))
    const crowd = Array.from({ length: 120 }, (_, index) =>
      slow.ask(`/v1/search?num=1&q=crowd+${index}`, key, patient),
    )
    const refused = await Promise.race(crowd)
    expect([refused.status, refused.json.error?.code]).toEqual([429, 'TOO_MANY_REQUESTS'])
    expect(refused.headers['retry-after']).toMatch(/^([1-9]|[1-5]\d|60)$/)
    expect(askedFor('crowd').length).toBeLessThanOrEqual(2)
    releaseAll()
    const replies = await Promise.all(crowd)
    // Admitted searches were not refused with it.
    const sold = replies.filter(({ status }) => status === 200)
    expect(sold.length).toBeGreaterThan(4)
    for (const { status, headers } of replies.filter((reply) => !sold.includes(reply))) {
      expect([status, headers['retry-after']]).toEqual([429, expect.stringMatching(/^\d+$/)])
    }
    expect(askedFor('crowd')).toHaveLength(sold.length)
    const charged = before.charged + chargesOf([first, ...sold])
    expect(await books()).toEqual({ used: charged, held: 0, charged })
    await slow.service.close()
  })

  test('is refused in the same way if its deadline passes while it waits', async () => {
    const hurried = await openShop({
      databaseUrl: shop.databaseUrl,
      upstream: 'searxng',
      searxngUrl: upstream.url,
      deadlineMs: 3000,
    })
    const key = await hurried.live()
    // There is no estimate, because no turn has ended.
    const crowd = await Promise.all(
      Array.from({ length: 5 }, (_, index) =>
        hurried.ask(`/v1/search?num=1&q=hung+${index}`, key, patient),
      ),
    )
    const told = crowd.map(({ status }) => status).toSorted((a, b) => a - b)
    expect(told).toEqual([429, 429, 429, 504, 504])
    expect(askedFor('hung')).toHaveLength(2)
    expect((await hurried.ask('/v1/usage', key)).headers['x-credits-remaining']).toBe('1000')
    await hurried.service.close()
  })
})

describe('a client that disconnects while its search waits', () => {
  test.each([
    ['a search', {}],
    ['a search with an Idempotency-Key', { 'idempotency-key': 'left' }],
  ])('removes %s from the queue', async (_, headers) => {
    const key = await shop.live()
    const staying = ['stays 0', 'stays 1', 'stays 2'].map((q) => search(key, q))
    await expect.poll(() => letIn('stays'), seldom).toBe(3)
    const leaving = new AbortController()
    const { signal } = leaving
    const authorization = `Bearer ${key}`
    const url = `${shop.service.url}/v1/search?num=1&q=leaves`
    const left = fetch(url, { headers: { ...headers, authorization }, signal }).catch(String)
    await expect.poll(() => letIn('leaves'), seldom).toBe(1)
    leaving.abort()
    await left
    await expect.poll(() => letIn('leaves'), seldom).toBe(0)
    releaseAll()
    for (const { status } of await Promise.all(staying)) expect(status).toBe(200)
    expect(askedFor('leaves')).toEqual([])
    expect((await shop.ask('/v1/usage', key)).headers['x-credits-remaining']).toBe('997')
  })
})

describe('slots', () => {
  test('one account uses at most its own, and the next one finds a free one', async () => {
    const limits = { places: 3, placesPerAccount: 2, waitingPerAccount: 5 }
    const queue = new FairQueue(limits)
    const { signal } = new AbortController()
    const [open, order]: [(() => void)[], string[]] = [[], []]
    const enter = (account: number, name: string) =>
      queue.run({ account, signal, deadline: null }, () => {
        order.push(name)
        return new Promise<void>((resolve) => open.push(resolve))
      })
    const all = [enter(1, 'a'), enter(1, 'b'), enter(1, 'c'), enter(2, 'd')]
    await expect.poll(() => order).toEqual(['a', 'b', 'd'])
    open[0]?.()
    await expect.poll(() => order).toEqual(['a', 'b', 'd', 'c'])
    open.forEach((end) => end())
    open[3]?.()
    await Promise.all(all)
  })

  test('a search that gives up leaves the queue, and one beyond the limit is a 429', async () => {
    const queue = new FairQueue({ places: 1, placesPerAccount: 1, waitingPerAccount: 1 })
    const stop = new AbortController()
    const turn = { account: 1, signal: stop.signal, deadline: Infinity }
    let end = () => {}
    const first = queue.run(turn, () => new Promise<void>((resolve) => (end = resolve)))
    const second = queue.run(turn, () => Promise.resolve())
    await expect(queue.run(turn, () => Promise.resolve())).rejects.toMatchObject({ status: 429 })
    stop.abort(new Error('gone'))
    await expect(second).rejects.toMatchObject({ status: 429 })
    end()
    await first
    const { signal } = new AbortController()
    expect(await queue.run({ ...turn, signal }, () => Promise.resolve('free'))).toBe('free')
  })
})
