// @module-tag slow
import { createServer } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { listAlerts, replaceAlertRules } from '../../src/features/alerts/statements.ts'
import { makeKey } from '../../src/service/keys.ts'
import { bindLoopback } from '../support/loopback.ts'
import { seeded } from '../../src/base/random.ts'
import { faults, harmless, type Pages, pick, type Random, World } from '../support/bad-nights.ts'
import {
  expectSameDays,
  expectSameRuns,
  expectSameShare,
  expectSameSums,
  tellFigures,
} from '../support/figures.ts'
import { testMill } from '../support/mill.ts'

const nights = 30
const seeds = Number(process.env['NIGHT_SEEDS'] ?? 1)
const lists = { shop: [24, 0.4], news: [12, 0.95], calm: [12, 0.1] } as const
const dateOf = (day: number) => new Date(Date.UTC(2026, 0, day)).toISOString().slice(0, 10)
/** Each query has one page of ours, which starts near the end of the top 10. */
const isOurs = (page: number) => page < 10_000 && page % 100 === 8

interface Reply {
  /** Null for a failure. */
  readonly pages: Pages | null
  readonly price: number
  /** The query that the answer is for, if it is a different one. */
  readonly to?: string
}

/** An API with its own records, which returns what the test sets, and counts its charges. */
async function openApi() {
  const replies = new Map<string, Reply>()
  let balance = 1_000_000
  const server = createServer((request, response) => {
    const asked = new URL(request.url ?? '/', 'http://api.example').searchParams
    const q = asked.get('q') ?? ''
    const { pages, price, to = q } = replies.get(q) ?? { pages: null, price: 0 }
    if (pages === null) {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end('{"success":false,"error":{"code":"BAD_REQUEST","message":"no"}}')
      return
    }
    balance -= price
    const organic = pages.slice(0, Number(asked.get('num') ?? 10)).map((page, index) => ({
      ...{ position: index + 1, title: `Page ${page}`, snippet: 'text' },
      ...{ url: `https://${hostOf(page)}/${page}`, domain: hostOf(page) },
    }))
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify({
        ...{ success: true, query: to, intent: 'informational', sentiment: 'neutral' },
        ...{ clusters: [], entities: [], organic_results: organic, related_searches: [] },
        ...{ credits_used: price, credits_remaining: balance },
      }),
    )
  })
  const url = await bindLoopback(server, 0)
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url, key: makeKey('live'), replies, spent: () => 1_000_000 - balance }
}

const hostOf = (page: number) => (isOurs(page) ? 'ours.example' : `site-${page % 97}.example`)

interface Rates {
  bad: number
  found: number
  good: number
  condemned: number
  alerts: number
  false: number
  missed: number
  unnoticed: string[]
}

/** One list: the true results of its queries, and our positions on its last good night. */
class List {
  readonly name: string
  readonly queries: readonly string[]
  readonly world: World
  readonly #random: Random
  #before: readonly boolean[] | null = null

  constructor(
    name: string,
    { random, size, restless }: { random: Random; size: number; restless: number },
  ) {
    this.name = name
    this.queries = Array.from({ length: size }, (_, nth) => `${name} query ${nth + 1}`)
    this.#random = random
    this.world = new World(random, size, restless)
  }

  /** Prepares a night's replies; returns their fault, and its duration in hours. */
  turn(day: number, replies: Map<string, Reply>): { fault: string | null; hours: number } {
    const { world, queries } = this
    const random = this.#random
    world.turn()
    const names = Object.keys(faults)
    const fault = day > 10 && random() < 1 / 3 ? (names[pick(random, names.length)] ?? null) : null
    const told = fault === null ? undefined : faults[fault]?.(world, random)
    for (const [nth, q] of queries.entries()) {
      const pages = told?.unreadable === undefined ? told?.answers[nth] : world.truth[nth]
      const price = told?.price ?? 1
      replies.set(q, {
        ...{ pages: told === undefined ? (world.truth[nth] ?? []) : (pages ?? null), price },
        ...(told?.unreadable === undefined ? {} : { to: `what ${q} is not` }),
      })
    }
    return { fault, hours: told?.hours ?? 0 }
  }

  /** The queries for which our page left the top 10 since the last good night. */
  good(): string[] {
    const here = this.world.truth.map((pages) => pages.slice(0, 10).some(isOurs))
    const left = this.queries.filter((_, nth) => this.#before?.[nth] === true && !here[nth])
    this.#before = here
    return left
  }
}

async function live(seed: string, rates: Rates): Promise<void> {
  const api = await openApi()
  const mill = await testMill({ api })
  onTestFinished(() => mill.close())
  await mill.pool.query("insert into own_domains (domain, label) values ('ours.example', 'Ours')")
  await replaceAlertRules(mill.db, [
    {
      ...{ name: 'lost', what: 'left', threshold: null, direction: null, list: null, tag: null },
      ...{ domain: null, rival: null, feature: null, confirm: 1 },
    },
  ])
  const random = seeded(seed)
  const known = Object.entries(lists).map(
    ([name, [size, restless]]) => new List(name, { random, size, restless }),
  )
  const expected = new Set<string>()
  for (let day = 1; day <= nights; day++) {
    const night = new Map<number, { list: List; fault: string | null }>()
    for (const list of known) {
      const { fault, hours } = list.turn(day, api.replies)
      const run = await mill.plan(list.queries, { list: list.name })
      await mill.pool.query(
        "update runs set run_date = $2, created_at = created_at - $3 * interval '1 hour' where id = $1",
        [run, dateOf(day), hours],
      )
      night.set(run, { list, fault })
    }
    expect(await mill.drain()).toMatchObject({ finish: 'completed' })
    for (const [run, { list, fault }] of night) {
      const { rows } = await mill.pool.query('select suspect from runs where id = $1', [run])
      const isFound = rows[0].suspect === true
      const isBad = fault !== null && !harmless.includes(fault)
      if (isBad) {
        rates.bad += 1
        if (isFound) rates.found += 1
        else rates.unnoticed.push(`${seed} night ${day} of ${list.name}: ${fault}`)
        continue
      }
      rates.good += 1
      if (isFound) {
        rates.condemned += 1
        rates.unnoticed.push(
          `${seed} night ${day} of ${list.name} is good, with ${fault ?? 'nothing'}`,
        )
      }
      for (const q of list.good()) expected.add(`${dateOf(day)} ${q}`)
    }
  }
  const all = await listAlerts(mill.db, { id: null, rule: null, standing: false, limit: 9999 })
  const raised = all.map(({ run_date: date, q }) => `${date} ${q}`)
  const wrong = raised.filter((one) => !expected.has(one))
  const missed = [...expected].filter((one) => !raised.includes(one))
  rates.alerts += raised.length
  rates.false += wrong.length
  rates.missed += missed.length
  rates.unnoticed.push(...wrong.map((one) => `${seed}: false alert ${one}`))
  rates.unnoticed.push(...missed.map((one) => `${seed}: no alert ${one}`))
  const told = await tellFigures(mill, {
    lists: Object.keys(lists),
    since: dateOf(1),
    until: dateOf(nights),
  })
  await expectSameRuns(told, mill)
  await expectSameDays(told)
  await expectSameSums(told, api.spent())
  await expectSameShare(told)
}

test(`thirty nights of three lists, bought from an API with twelve kinds of bad nights, raise exactly the true alerts, and show each figure consistently (${seeds} seeds)`, async () => {
  const rates: Rates = {
    ...{ bad: 0, found: 0, good: 0, condemned: 0, alerts: 0, false: 0, missed: 0, unnoticed: [] },
  }
  for (let seed = 1; seed <= seeds; seed++) await live(`alerts ${seed}`, rates)
  const { unnoticed, ...figures } = rates
  process.stderr.write(`${JSON.stringify(figures)}\n${unnoticed.join('\n')}\n`)
  expect(rates.found / rates.bad).toBeGreaterThanOrEqual(0.95)
  expect(rates.condemned / rates.good).toBeLessThanOrEqual(0.01)
  expect(rates.alerts).toBeGreaterThan(0)
  expect(rates.false / rates.alerts).toBeLessThanOrEqual(0.02)
  expect(rates.missed).toBe(0)
})
