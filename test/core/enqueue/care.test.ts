import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { planList, planLists } from '../../../src/core/enqueue/planning.ts'
import type { ListOrder } from '../../../src/core/enqueue/staging.ts'
import { type Office, openOffice } from '../../support/office.ts'

const noLimits = { floor: 0, budget: null }

let office: Office

beforeAll(async () => {
  office = await openOffice()
})

afterAll(async () => office.close())

async function elsewhere(order: ListOrder, folder: string, text: string): Promise<ListOrder> {
  if (order.from.kind !== 'file') throw new Error('expected a file')
  const path = join(dirname(order.from.path), folder, `${order.list}.csv`)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  return { ...order, from: { kind: 'file', path, shown: path } }
}

async function sequences(): Promise<unknown> {
  return office.rows(
    sql`select sequencename, last_value from pg_sequences where schemaname = 'public' order by 1`,
  )
}

describe('a list whose name belongs to another file', () => {
  test('is refused with a suggested name, and joins it only on request', async () => {
    const first = await office.order('Queries', 'q\nshop a\n')
    await planList(office.desk, first)
    const second = await elsewhere(first, 'site-b', 'q\nshop b\n')
    await expect(planList(office.desk, second)).rejects.toThrow(
      /got "Queries", which is the name of the list read from .*; use --as "site-b Queries" for a separate list, or --join/,
    )
    const held = sql`
      select q from list_queries
      join queries on queries.id = query_id
      join lists on lists.id = list_id
      where name = 'Queries' order by q`
    expect(await office.rows(held)).toEqual([{ q: 'shop a' }])
    await planList(office.desk, { ...second, join: true })
    expect(await office.rows(held)).toEqual([{ q: 'shop a' }, { q: 'shop b' }])
  })
})

describe('a preview', () => {
  test('uses no number of any table, whether its list is new or its run is open', async () => {
    await planList(office.desk, await office.order('open', 'q\nfirst\n'))
    const before = await sequences()
    const orders = [
      await office.order('never', 'q,num\nnew one,\nbad,0\n'),
      await office.order('open', 'q\nfirst\nsecond\n'),
    ]
    const { lists } = await planLists(office.desk, { orders, ...noLimits }, 'never')
    expect(lists).toMatchObject([
      { queued: 1, rejected: 1, joined: false, done: false },
      { queued: 1, already: 1, joined: true, done: false },
    ])
    expect(lists[0]?.reasons).toHaveLength(1)
    expect(await sequences()).toEqual(before)
    expect(await office.rows(sql`select from lists where name = 'never'`)).toEqual([])
  })
})

describe('the sample of a list in a plan', () => {
  test('shows its first queries and its last one, as they will be sent', async () => {
    const text = `q,gl,device\n${['a', 'b', 'c', 'd', 'e'].map((q) => `${q}  x,us,mobile`).join('\n')}\n`
    const { sample } = await planList(office.desk, await office.order('sampled', text))
    const query = { location: null, hl: null, gl: 'us', num: 10, device: 'mobile' }
    expect(sample).toEqual({
      first: ['a x', 'b x', 'c x'].map((q) => ({ q, ...query })),
      last: { q: 'e x', ...query },
    })
  })

  test('warns if most lines merge, as with a seed beside its suggestions', async () => {
    const lines = Array.from({ length: 20 }, (_, index) => `shoes,shoes for day ${index}`)
    const text = `Keyword,Suggestion\n${lines.join('\n')}\n`
    const { notices } = await planList(office.desk, await office.order('seeds', text))
    expect(notices[0]).toContain(
      'most lines are duplicates: the column "Keyword" has 1 different queries in 20 lines',
    )
    const named = await office.order('suggested', text)
    const reading = { ...named.reading, column: 'Suggestion' }
    expect((await planList(office.desk, { ...named, reading })).notices).toEqual([])
  })
})

describe('values of a tool beside its queries', () => {
  test('are stored with the membership, and updated when the list is read again', async () => {
    const columns = sql`
      select q, weight, cpc, difficulty from list_queries
      join queries on queries.id = query_id
      join lists on lists.id = list_id
      where name = 'tool' order by q`
    const text = 'Keyword,Volume,CPC (USD),Keyword Difficulty\na,"1,200",2.5,41\nb,90,,\n'
    await planList(office.desk, await office.order('tool', text))
    expect(await office.rows(columns)).toEqual([
      { q: 'a', weight: 1200, cpc: 2.5, difficulty: 41 },
      { q: 'b', weight: 90, cpc: null, difficulty: null },
    ])
    await planList(office.desk, await office.order('tool', text.replace('2.5,41', '3.5,42')))
    expect((await office.rows(columns))[0]).toMatchObject({ cpc: 3.5, difficulty: 42 })
  })

  test('are read according to the whole list, even if its beginning suggests otherwise', async () => {
    const rows = Array.from({ length: 20_000 }, (_, index) => `word number ${index},"1,200"`)
    const text = `q,weight\n${rows.join('\n')}\nlast,"1,5"\n`
    await planList(office.desk, await office.order('late', text))
    expect(
      await office.rows(sql`
        select weight, count(*) as queries from list_queries
        join lists on lists.id = list_id where name = 'late' group by weight order by weight`),
    ).toEqual([
      { weight: 1.2, queries: 20_000 },
      { weight: 1.5, queries: 1 },
    ])
  })
})

describe('reading options given by a user', () => {
  test('are stored with the list until they are changed', async () => {
    const kept = sql`select reading from lists where name = 'kept'`
    const order = await office.order('kept', 'Phrase,Market\nshoes,us\nhats,de\n')
    const map = [{ column: 'Market', role: 'gl' as const }]
    await planList(office.desk, { ...order, reading: { ...order.reading, column: 'Phrase', map } })
    expect(await office.rows(kept)).toEqual([{ reading: { column: 'Phrase', map, width: 2 } }])
    await planList(office.desk, await office.order('kept', 'q\nshoes\n', { ifRemoved: 'keep' }))
    expect(await office.rows(kept)).toEqual([{ reading: null }])
  })
})
