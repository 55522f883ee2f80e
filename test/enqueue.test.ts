import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { planList, planLists, queueRun } from '../src/enqueue.ts'
import { noDefaults } from '../src/lists/requests.ts'
import type { Desk, ListOrder } from '../src/staging.ts'
import { freshDatabase, type FreshDatabase } from './support/database.ts'

let database: FreshDatabase
let desk: Desk
let folder: string

beforeAll(async () => {
  database = await freshDatabase()
  const market = { origin: 'sandbox', api: 'bundled', account: 'bundled' } as const
  desk = { db: database.db, market }
  folder = await mkdtemp(join(tmpdir(), 'lists-'))
})

afterAll(async () => {
  await database.close()
  await rm(folder, { recursive: true })
})

async function order(
  list: string,
  text: string,
  more: Partial<ListOrder> = {},
): Promise<ListOrder> {
  const path = join(folder, `${list}.csv`)
  await writeFile(path, text)
  return {
    list,
    from: { kind: 'file', path, shown: `${list}.csv` },
    reading: { matchTypes: 'keep', yes: false, defaults: noDefaults },
    kind: 'manual',
    runDate: '2026-11-21',
    budget: undefined,
    maxAgeMs: 0,
    into: null,
    ...more,
  }
}

async function rows<T>(query: ReturnType<typeof sql<T>>): Promise<readonly T[]> {
  return (await query.execute(database.db)).rows
}

describe('a list', () => {
  test('gives one task for each distinct query, and counts that add up', async () => {
    const text =
      'q,gl,tags,priority,weight\nfoo,us,a,5,1\n foo ,us,b,2,3\nbar,us,,,\n,us,,,\nbaz,us,,99,\n'
    const plan = await planList(desk, await order('counted', text))
    expect(plan).toMatchObject({
      rows: 5,
      accepted: 2,
      duplicates: 1,
      rejected: 2,
      tasks: 2,
      queued: 2,
    })
    const members = await rows(sql`
      select q, priority, weight, tags, given
      from list_queries
      join queries on queries.id = query_id
      join lists on lists.id = list_id
      where name = 'counted'
      order by q`)
    expect(members).toEqual([
      { q: 'bar', priority: 5, weight: null, tags: [], given: null },
      { q: 'foo', priority: 2, weight: 3, tags: ['a', 'b'], given: null },
    ])
    const rejected = await rows(
      sql`select line, reason from rejected_lines where run_id = ${plan.run} order by line`,
    )
    expect(rejected).toEqual([
      { line: 5, reason: 'no query' },
      { line: 6, reason: 'priority is no whole number from 1 to 9' },
    ])
  })
})
