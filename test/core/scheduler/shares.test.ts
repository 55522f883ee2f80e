// @module-tag slow
import { writeFileSync } from 'node:fs'
import { fc } from '@fast-check/vitest'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { shareCell } from '../../../src/core/scheduler/schedule.ts'
import { type NightTable, openNights } from '../../support/nights.ts'
import { scheduleOf } from './world.ts'

describe('the column share', () => {
  test.each([
    ['', null, []],
    ['30%', 0.3, []],
    ['brand=30%', null, [{ tag: 'brand', share: 0.3 }]],
    ['brand=100% | 40 %', 0.4, [{ tag: 'brand', share: 1 }]],
    [
      ' brand = 30 % | long tail=20%|',
      null,
      [
        { tag: 'brand', share: 0.3 },
        { tag: 'long tail', share: 0.2 },
      ],
    ],
    ['all:100%', null, [{ tag: 'all', share: 1 }]],
  ])('reads %j', (text, part, shares) => {
    expect(shareCell.read(text)).toEqual({ part, shares })
  })

  test.each([
    '0%',
    '30%|40%',
    '130%',
    'brand',
    'brand=0%',
    'brand=101%',
    'a=60%|b=50%',
    'a=10%|a=20%',
    'a=1.5%',
  ])('refuses %j', (text) => {
    expect(shareCell.read(text)).toBeNull()
  })
})

let table: NightTable

beforeEach(async () => {
  table = await openNights()
})
afterEach(async () => table.close())

interface Line {
  readonly tag: number
  readonly weight: number
  readonly num: number
}

const tags = ['brand', 'guides', 'other']
/** Cost of an answer, by the number of results requested. */
const priceOf = (num: number) => (num === 10 ? 1 : 3)

/** The lines in the order in which a night buys them. */
async function orderedBy(night: number, lines: readonly Line[]): Promise<readonly Line[]> {
  const { rows } = await sql<{ q: string }>`
    select q
    from tasks
    join queries on queries.id = query_id
    where run_id = ${night}
      and state = 'open'
    order by tasks.priority, tasks.slice, tasks.id`.execute(table.db)
  return rows.map(({ q }) => {
    const line = lines[Number(q.split(' ')[1])]
    if (line === undefined) throw new Error(`expected a line of the list, got ${q}`)
    return line
  })
}

async function knowPrices(): Promise<void> {
  await sql`
    with account as (
      insert into accounts (name, kind) values ('bundled', 'sandbox') returning id
    )
    insert into account_costs (account_id, class, dearest, seen)
    select account.id, class, price, 1
    from account, (values ('10/-', 1), ('50/-', 3)) as known (class, price)`.execute(table.db)
}

describe('a night whose credits may run out at any point', () => {
  test('has by then spent on each label its share of the credits, to within one call, while that label has queries left', async () => {
    await knowPrices()
    const line = fc.record({
      tag: fc.nat({ max: 2 }),
      weight: fc.nat({ max: 9 }),
      num: fc.constantFrom(10, 50),
    })
    const given = fc.tuple(
      fc.array(line, { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: 40 }),
    )
    let nights = 0
    const property = fc.asyncProperty(given, async ([lines, brand, guides]) => {
      nights += 1
      const text = lines.map(
        ({ tag, weight, num }, index) => `q ${index} ${nights},${tags[tag]},${weight},${num}`,
      )
      writeFileSync(table.file, `query,tags,weight,num\n${text.join('\n')}\n`)
      const shares = [
        { tag: 'brand', share: brand / 100 },
        { tag: 'guides', share: guides / 100 },
      ]
      const date = new Date(Date.UTC(2026, 0, nights, 2, 0, 20)).toISOString()
      await table.tickAt(date, scheduleOf({ list: table.file, shares }))
      const run = (await table.runs()).at(-1)?.id ?? 0
      const bought = await orderedBy(run, lines)
      await table.answerAll()
      expect(bought).toHaveLength(lines.length)
      const parts = [brand / 100, guides / 100, 1 - (brand + guides) / 100]
      expectShares(bought, parts)
    })
    await table.tickAt('2025-12-31T01:00:00Z', scheduleOf({ list: table.file }))
    await fc.assert(property, { numRuns: 12 })
  })

  test('buys first what has waited more than twice its interval, and counts it toward its label', async () => {
    const lines = [
      ...Array.from({ length: 4 }, (_, index) => `late ${index},other,1,1d`),
      ...Array.from({ length: 12 }, (_, index) => `q ${index},${index % 2 ? 'brand' : 'other'},9,`),
    ]
    writeFileSync(table.file, `query,tags,weight,every\n${lines.join('\n')}\n`)
    const shares = [{ tag: 'brand', share: 0.5 }]
    await table.tickAt('2026-01-01T01:00:00Z', scheduleOf({ list: table.file, shares }))
    await table.tickAt('2026-01-01T02:00:20Z', scheduleOf({ list: table.file, shares }))
    const { rows } = await sql<{ q: string }>`
      select q from tasks join queries on queries.id = query_id order by slice, tasks.id`.execute(
      table.db,
    )
    const order = rows.map(({ q }) => (q.startsWith('late') ? 'late' : Number(q.slice(2)) % 2))
    // Four of the others were bought out of turn, so the label catches up first.
    expect(order.slice(0, 8)).toEqual(['late', 'late', 'late', 'late', 1, 1, 1, 1])
    expect(table.told.at(-1)).toContain('16 to buy, 0 reused, brand 50 % for 6 of them')
  })

  test('uses the labels of the last reading if the file is broken', async () => {
    writeFileSync(table.file, 'query,tags,weight\na,other,9\nb,other,9\nc,brand,1\nd,brand,1\n')
    const schedule = scheduleOf({ list: table.file, shares: [{ tag: 'brand', share: 0.5 }] })
    await table.tickAt('2026-01-01T01:00:00Z', schedule)
    await table.tickAt('2026-01-01T02:00:20Z', schedule)
    await table.answerAll()
    writeFileSync(table.file, '')
    await table.tickAt('2026-01-02T02:00:20Z', schedule)
    const { rows } = await sql<{ q: string }>`
      select q from tasks join queries on queries.id = query_id where run_id = 2 order by slice, tasks.id`.execute(
      table.db,
    )
    expect(rows.slice(0, 2).map(({ q }) => 'ab'.includes(q))).toContain(false)
    expect(table.told.at(-1)).toContain('brand 50 % for 2 of them')
  })
})

/** Checks, for every point at which credits may run out, the shares that its labels have received. */
function expectShares(bought: readonly Line[], parts: readonly number[]): void {
  const left = parts.map((_, tag) => bought.filter((line) => line.tag === tag).length)
  const spent = parts.map(() => 0)
  for (const { tag, num } of bought) {
    spent[tag] = (spent[tag] ?? 0) + priceOf(num)
    left[tag] = (left[tag] ?? 0) - 1
    const whole = spent.reduce((sum, credits) => sum + credits, 0)
    for (const [label, part] of parts.entries()) {
      if ((left[label] ?? 0) === 0) continue
      expect(spent[label] ?? 0).toBeGreaterThanOrEqual(part * whole - 3 - 1e-9)
    }
  }
}
