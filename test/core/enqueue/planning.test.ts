import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { planList, planLists } from '../../../src/core/enqueue/planning.ts'
import { type Office, openOffice } from '../../support/office.ts'

const noLimits = { floor: 0, budget: null }

let office: Office

beforeAll(async () => {
  office = await openOffice()
})

afterAll(async () => office.close())

describe('a list', () => {
  test('has one task for each distinct query, and counts that add up', async () => {
    const text =
      'q,gl,tags,priority,weight\nfoo,us,a,5,1\n foo ,us,b,2,3\nbar,us,,,\n,us,,,\nbaz,us,,99,\n'
    const plan = await planList(office.desk, await office.order('counted', text))
    expect(plan).toMatchObject({
      rows: 5,
      accepted: 2,
      duplicates: 1,
      rejected: 2,
      tasks: 2,
      queued: 2,
    })
    const members = await office.rows(sql`
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
    const rejected = await office.rows(
      sql`select line, reason from rejected_lines where run_id = ${plan.run} order by line`,
    )
    expect(rejected).toEqual([
      { line: 5, reason: 'no query' },
      { line: 6, reason: 'priority is not a whole number from 1 to 9' },
    ])
    const [run] = await office.rows(
      sql`select rows, accepted, duplicates, rejected, state from runs where id = ${plan.run}`,
    )
    expect(run).toEqual({ rows: 5, accepted: 2, duplicates: 1, rejected: 2, state: 'open' })
  })

  test('with more queries than a slice has slices of one priority, most urgent first, in the order of the file', async () => {
    const lines = Array.from({ length: 60 }, (_, index) => `w${index},${index % 2 === 0 ? 5 : 3}`)
    const plan = await planList(
      office.desk,
      await office.order('sliced', `q,priority\n${lines.join('\n')}\n`),
    )
    expect(await office.slicesOf(plan.run)).toEqual([
      { slice: 1, priority: 3, tasks: 25, open: true },
      { slice: 2, priority: 3, tasks: 5, open: true },
      { slice: 3, priority: 5, tasks: 25, open: true },
      { slice: 4, priority: 5, tasks: 5, open: true },
    ])
    const first = await office.rows<{ q: string }>(sql`
      select q from tasks join queries on queries.id = query_id
      where run_id = ${plan.run} and slice = 3 order by tasks.id limit 2`)
    expect(first).toEqual([{ q: 'w0' }, { q: 'w2' }])
  })

  test('with several values counts lines, not queries', async () => {
    const plan = await planList(
      office.desk,
      await office.order('several', 'q,devices\na,desktop|mobile\na,mobile\nb,\n'),
    )
    expect(plan).toMatchObject({ rows: 3, accepted: 2, duplicates: 1, tasks: 3 })
  })

  test('without a usable line is refused, and leaves nothing behind', async () => {
    await expect(
      planList(office.desk, await office.order('useless', 'q,num\na,0\n')),
    ).rejects.toThrow(
      'got 1 rejected (line 2: num is not a whole number from 1 to 100); nothing was queued',
    )
    await expect(planList(office.desk, await office.order('useless', 'q,num\n'))).rejects.toThrow(
      'only a header',
    )
    expect(await office.rows(sql`select from lists where name = 'useless'`)).toEqual([])
  })

  test('that was only previewed leaves nothing behind', async () => {
    const plans = await planLists(
      office.desk,
      { orders: [await office.order('looked', 'q\nonly looked at\n')], ...noLimits },
      'never',
    )
    expect(plans.lists[0]).toMatchObject({ queued: 1 })
    expect(await office.rows(sql`select from lists where name = 'looked'`)).toEqual([])
    expect(await office.rows(sql`select from queries where q = 'only looked at'`)).toEqual([])
  })

  test('is stored only after its plan was confirmed', async () => {
    const seen: number[] = []
    const ask = (yes: boolean) => async (preview: { lists: readonly { queued: number }[] }) => {
      seen.push(preview.lists[0]?.queued ?? 0)
      return yes
    }
    const wanted = await office.order('agreed', 'q\na\nb\n')
    expect(
      (await planLists(office.desk, { orders: [wanted], ...noLimits }, ask(false))).committed,
    ).toBe(false)
    expect(await office.rows(sql`select from lists where name = 'agreed'`)).toEqual([])
    expect(
      (await planLists(office.desk, { orders: [wanted], ...noLimits }, ask(true))).committed,
    ).toBe(true)
    expect(seen).toEqual([2, 2])
    expect(await office.rows(sql`select from lists where name = 'agreed'`)).toHaveLength(1)
  })
})

describe('a list of many lines', () => {
  test('keeps the values of each line, wherever in the list they first occur', async () => {
    const plain = Array.from({ length: 6000 }, (_, index) => `long ${index},,,,`)
    const said = [
      'LONG  twice,x,2.5,https://example.com/a,mobile',
      'LONG twice,y,4,,mobile',
      'long once,,,,desktop',
    ]
    const text = `q,tags,weight,target url,device\n${[...plain, ...said, ...plain].join('\n')}\n`
    const plan = await planList(office.desk, await office.order('long', text))
    expect(plan).toMatchObject({ rows: 12_003, accepted: 6002, duplicates: 6001, tasks: 6002 })
    expect(plan.toBuy).toEqual([
      { num: 10, device: 'desktop', tasks: 1 },
      { num: 10, device: 'mobile', tasks: 1 },
      { num: 10, device: null, tasks: 6000 },
    ])
    const members = await office.rows(sql`
      select q, device, tags, weight, target_url, given
      from list_queries
      join queries on queries.id = query_id
      join lists on lists.id = list_id
      where name = 'long' and (device is not null or q = 'long 5999')
      order by q`)
    const blank = { tags: [], weight: null, target_url: null, given: null }
    expect(members).toEqual([
      {
        q: 'LONG twice',
        device: 'mobile',
        tags: ['x', 'y'],
        weight: 4,
        target_url: 'https://example.com/a',
        given: 'LONG  twice',
      },
      { q: 'long 5999', device: null, ...blank },
      { q: 'long once', device: 'desktop', ...blank },
    ])
  })
})

describe('a list that is read again', () => {
  test('while its run is open joins it and adds only missing queries', async () => {
    const first = await planList(office.desk, await office.order('again', 'q\na\nb\n'))
    const second = await planList(
      office.desk,
      await office.order('again', 'q\nb\nc\n', { ifRemoved: 'keep' }),
    )
    expect(second).toMatchObject({ run: first.run, joined: true, tasks: 2, queued: 1, already: 1 })
    expect(await office.rows(sql`select from tasks where run_id = ${first.run}`)).toHaveLength(3)
    const gone = await office.rows<{ q: string }>(sql`
      select q
      from list_queries
      join queries on queries.id = query_id
      join lists on lists.id = list_id
      where name = 'again' and last_seen < (select max(last_seen) from list_queries where list_id = lists.id)`)
    expect(gone).toEqual([{ q: 'a' }])
  })

  test('after its run is done gets a new run', async () => {
    const first = await planList(office.desk, await office.order('anew', 'q\na\n'))
    await office.finish(first.run)
    const second = await planList(office.desk, await office.order('anew', 'q\na\n'))
    expect(second).toMatchObject({ joined: false, queued: 1 })
    expect(second.run).not.toBe(first.run)
  })

  test('uses no more disk space when it is read a second time', async () => {
    const text = `q\n${Array.from({ length: 3000 }, (_, index) => `night ${index}`).join('\n')}\n`
    const sizes: number[] = []
    for (let night = 0; night < 2; night++) {
      const { run } = await planList(office.desk, await office.order('nights', text))
      await office.finish(run)
      const [size] = await office.rows<{ bytes: number }>(
        sql`select pg_relation_size('list_queries') + pg_relation_size('list_queries_pkey') as bytes`,
      )
      sizes.push(size?.bytes ?? 0)
    }
    const [first = 0, second = 0] = sizes
    expect(first).toBeGreaterThan(100_000)
    expect(second).toBeLessThan(1.1 * first)
  })

  test('by two processes at once has each task once', async () => {
    const text = `q\n${Array.from({ length: 500 }, (_, index) => `same ${index}`).join('\n')}\n`
    const plans = await Promise.all(
      [1, 2, 3].map(async () => planList(office.desk, await office.order('same', text))),
    )
    expect(new Set(plans.map(({ run }) => run)).size).toBe(1)
    expect(plans.map(({ queued }) => queued).toSorted((a, b) => a - b)).toEqual([0, 0, 500])
    expect(
      await office.rows(sql`select from tasks where run_id = ${plans[0]?.run ?? 0}`),
    ).toHaveLength(500)
  })

  test('together with other lists in other orders never deadlocks', async () => {
    const words = Array.from({ length: 400 }, (_, index) => `shared ${index}`)
    const lists = ['one', 'two', 'three'].map(async (name, turn) =>
      office.order(
        `shared-${name}`,
        `q\n${(turn % 2 === 0 ? words : words.toReversed()).join('\n')}\n`,
      ),
    )
    const plans = await Promise.all(lists.map(async (list) => planList(office.desk, await list)))
    expect(plans.map(({ queued }) => queued)).toEqual([400, 400, 400])
    expect(await office.rows(sql`select from queries where q like 'shared %'`)).toHaveLength(400)
  })

  test('keeps only the rejected lines of its last reading', async () => {
    const first = await planList(office.desk, await office.order('mended', 'q,num\na,0\nb,1\n'))
    const second = await planList(office.desk, await office.order('mended', 'q,num\na,1\nb,1\n'))
    expect(second).toMatchObject({ run: first.run, rejected: 0, rows: 2 })
    expect(await office.rows(sql`select from rejected_lines where run_id = ${first.run}`)).toEqual(
      [],
    )
  })
})
