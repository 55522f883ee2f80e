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

function slicesOf(run: number) {
  return rows<{ slice: number; priority: number; tasks: number; open: boolean }>(sql`
    select slices.slice, slices.priority, count(*) as tasks, slices.done_at is null as open
    from slices
    join tasks using (run_id, slice)
    where run_id = ${run}
    group by slices.run_id, slices.slice
    order by slices.slice`)
}

/** An answer to every query of a run, as old as given. */
async function answer(run: number, age: string, more: { origin?: string; broken?: boolean } = {}) {
  await sql`
    insert into searches (id, call_id, task_id, query_id, fetched_at, origin, api, parse_error)
    select
      coalesce((select max(id) from searches), 0) + row_number() over (), -id, id, query_id,
      now() - ${age}::interval, ${more.origin ?? 'sandbox'}, 'bundled',
      case when ${more.broken ?? false} then 'broken' end
    from tasks
    where run_id = ${run}`.execute(database.db)
}

async function finish(run: number) {
  await sql`update runs set state = 'done', finished_at = now() where id = ${run}`.execute(
    database.db,
  )
}

class Sink {
  readonly added: { run: number; slice: number; round: number; priority: number }[] = []
  async add(slices: readonly (typeof this.added)[number][]): Promise<void> {
    this.added.push(...slices)
  }
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
    const [run] = await rows(
      sql`select rows, accepted, duplicates, rejected, state from runs where id = ${plan.run}`,
    )
    expect(run).toEqual({ rows: 5, accepted: 2, duplicates: 1, rejected: 2, state: 'open' })
  })

  test('with more queries than fit a slice fills slices of one priority, most urgent first, in the order of the file', async () => {
    const lines = Array.from({ length: 60 }, (_, index) => `w${index},${index % 2 === 0 ? 5 : 3}`)
    const plan = await planList(desk, await order('sliced', `q,priority\n${lines.join('\n')}\n`))
    expect(await slicesOf(plan.run)).toEqual([
      { slice: 1, priority: 3, tasks: 25, open: true },
      { slice: 2, priority: 3, tasks: 5, open: true },
      { slice: 3, priority: 5, tasks: 25, open: true },
      { slice: 4, priority: 5, tasks: 5, open: true },
    ])
    const first = await rows<{ q: string }>(sql`
      select q from tasks join queries on queries.id = query_id
      where run_id = ${plan.run} and slice = 3 order by tasks.id limit 2`)
    expect(first).toEqual([{ q: 'w0' }, { q: 'w2' }])
  })

  test('with several values counts lines, not queries', async () => {
    const plan = await planList(
      desk,
      await order('several', 'q,devices\na,desktop|mobile\na,mobile\nb,\n'),
    )
    expect(plan).toMatchObject({ rows: 3, accepted: 2, duplicates: 1, tasks: 3 })
  })

  test('without a usable line is refused, and leaves nothing behind', async () => {
    await expect(planList(desk, await order('useless', 'q,num\na,0\n'))).rejects.toThrow(
      'got 1 rejected (line 2: num is no whole number from 1 to 100); nothing was queued',
    )
    await expect(planList(desk, await order('useless', 'q,num\n'))).rejects.toThrow('a header only')
    expect(await rows(sql`select from lists where name = 'useless'`)).toEqual([])
  })

  test('that was only looked at leaves nothing behind', async () => {
    const plans = await planLists(desk, [await order('looked', 'q\nonly looked at\n')], 'never')
    expect(plans.lists[0]).toMatchObject({ queued: 1 })
    expect(await rows(sql`select from lists where name = 'looked'`)).toEqual([])
    expect(await rows(sql`select from queries where q = 'only looked at'`)).toEqual([])
  })

  test('is written down only when its plan is agreed to', async () => {
    const seen: number[] = []
    const ask = (yes: boolean) => async (preview: { lists: readonly { queued: number }[] }) => {
      seen.push(preview.lists[0]?.queued ?? 0)
      return yes
    }
    const wanted = await order('agreed', 'q\na\nb\n')
    expect((await planLists(desk, [wanted], ask(false))).committed).toBe(false)
    expect(await rows(sql`select from lists where name = 'agreed'`)).toEqual([])
    expect((await planLists(desk, [wanted], ask(true))).committed).toBe(true)
    expect(seen).toEqual([2, 2])
    expect(await rows(sql`select from lists where name = 'agreed'`)).toHaveLength(1)
  })
})

describe('a list that is read again', () => {
  test('while its run is open joins it and adds only what is missing', async () => {
    const first = await planList(desk, await order('again', 'q\na\nb\n'))
    const second = await planList(desk, await order('again', 'q\nb\nc\n'))
    expect(second).toMatchObject({ run: first.run, joined: true, tasks: 2, queued: 1, already: 1 })
    expect(await rows(sql`select from tasks where run_id = ${first.run}`)).toHaveLength(3)
    const gone = await rows<{ q: string }>(sql`
      select q
      from list_queries
      join queries on queries.id = query_id
      join lists on lists.id = list_id
      where name = 'again' and last_seen < (select max(last_seen) from list_queries where list_id = lists.id)`)
    expect(gone).toEqual([{ q: 'a' }])
  })

  test('after its run is done gets a new run', async () => {
    const first = await planList(desk, await order('anew', 'q\na\n'))
    await finish(first.run)
    const second = await planList(desk, await order('anew', 'q\na\n'))
    expect(second).toMatchObject({ joined: false, queued: 1 })
    expect(second.run).not.toBe(first.run)
  })

  test('by two at the same time has each task once', async () => {
    const text = `q\n${Array.from({ length: 500 }, (_, index) => `same ${index}`).join('\n')}\n`
    const plans = await Promise.all(
      [1, 2, 3].map(async () => planList(desk, await order('same', text))),
    )
    expect(new Set(plans.map(({ run }) => run)).size).toBe(1)
    expect(plans.map(({ queued }) => queued).toSorted((a, b) => a - b)).toEqual([0, 0, 500])
    expect(await rows(sql`select from tasks where run_id = ${plans[0]?.run ?? 0}`)).toHaveLength(
      500,
    )
  })

  test('by several lists at the same time, with the same queries in other orders, ends for all of them', async () => {
    const words = Array.from({ length: 400 }, (_, index) => `shared ${index}`)
    const lists = ['one', 'two', 'three'].map(async (name, turn) =>
      order(`shared-${name}`, `q\n${(turn % 2 === 0 ? words : words.toReversed()).join('\n')}\n`),
    )
    const plans = await Promise.all(lists.map(async (list) => planList(desk, await list)))
    expect(plans.map(({ queued }) => queued)).toEqual([400, 400, 400])
    expect(await rows(sql`select from queries where q like 'shared %'`)).toHaveLength(400)
  })

  test('keeps the rejected lines of its newest reading only', async () => {
    const first = await planList(desk, await order('mended', 'q,num\na,0\nb,1\n'))
    const second = await planList(desk, await order('mended', 'q,num\na,1\nb,1\n'))
    expect(second).toMatchObject({ run: first.run, rejected: 0, rows: 2 })
    expect(await rows(sql`select from rejected_lines where run_id = ${first.run}`)).toEqual([])
  })
})

describe('an answer', () => {
  const text = `q\n${Array.from({ length: 30 }, (_, index) => `kept ${index}`).join('\n')}\n`
  const hour = 3_600_000

  test('that is young enough is used again, and its tasks take no place in slices that are queued', async () => {
    const first = await planList(desk, await order('reuse', text))
    await answer(first.run, '10 minutes')
    await finish(first.run)
    const more = await order('reuse', `${text}new one\n`, { maxAgeMs: hour })
    const second = await planList(desk, more)
    expect(second).toMatchObject({ tasks: 31, queued: 1, reused: 30, done: false })
    expect((await slicesOf(second.run)).filter(({ open }) => open)).toMatchObject([{ tasks: 1 }])
    const reused = await rows(sql`
      select from tasks
      where run_id = ${second.run} and state = 'reused' and search_id is not null and finished_at is not null`)
    expect(reused).toHaveLength(30)
  })

  test('for every query ends the run at once', async () => {
    const plan = await planList(desk, await order('reuse-all', text, { maxAgeMs: hour }))
    expect(plan).toMatchObject({ queued: 0, reused: 30, done: true })
    const [run] = await rows(
      sql`select state, finished_at is not null as ended from runs where id = ${plan.run}`,
    )
    expect(run).toEqual({ state: 'done', ended: true })
    const sink = new Sink()
    expect(await queueRun(desk, sink, plan.run)).toBe(0)
  })

  test.each([
    ['too old', '2 hours', {}],
    ['of another origin', '1 minute', { origin: 'live' }],
    ['that could not be read', '1 minute', { broken: true }],
  ])('%s is bought anew', async (name, age, more) => {
    const list = `stale ${name}`
    const first = await planList(desk, await order(list, `q\n${name} x\n`))
    await answer(first.run, age, more)
    await finish(first.run)
    const second = await planList(desk, await order(list, `q\n${name} x\n`, { maxAgeMs: hour }))
    expect(second).toMatchObject({ queued: 1, reused: 0 })
  })

  test('of any age is bought anew when the greatest age is nothing', async () => {
    expect(await planList(desk, await order('buy-all', text))).toMatchObject({
      queued: 30,
      reused: 0,
    })
  })
})

describe('a run', () => {
  test('has every slice queued that is not done, each time it is asked', async () => {
    const lines = Array.from({ length: 51 }, (_, index) => `queue ${index}`).join('\n')
    const { run } = await planList(desk, await order('queued', `q\n${lines}\n`))
    await sql`update slices set done_at = now() where run_id = ${run} and slice = 2`.execute(
      database.db,
    )
    await sql`update tasks set state = 'answered' where run_id = ${run} and slice = 2`.execute(
      database.db,
    )
    for (const _ of [1, 2]) {
      const sink = new Sink()
      await queueRun(desk, sink, run)
      expect(sink.added.map(({ slice, round }) => [slice, round])).toEqual([
        [1, 0],
        [3, 0],
      ])
    }
  })

  test('of a night is written down together with what the caller records, or not at all', async () => {
    const night = { kind: 'nightly', runDate: '2026-11-20', budget: 50 } as const
    const recorded: number[] = []
    const good = await order('night', 'q\na\n', {
      ...night,
      record: async (_, run) => void recorded.push(run),
    })
    const plan = await planList(desk, good)
    expect(recorded).toEqual([plan.run])
    const [run] = await rows(sql`select kind, run_date, budget from runs where id = ${plan.run}`)
    expect(run).toEqual({ kind: 'nightly', run_date: '2026-11-20', budget: 50 })
    const taken = new Error('taken')
    const bad = await order('night-lost', 'q\na\n', {
      ...night,
      record: () => Promise.reject(taken),
    })
    await expect(planList(desk, bad)).rejects.toBe(taken)
    expect(await rows(sql`select from lists where name = 'night-lost'`)).toEqual([])
  })

  test('without its file is planned from what the list held when it was last read', async () => {
    await planList(desk, await order('members', 'q,tags\na,x\ngone,\n'))
    const { run } = await planList(desk, await order('members', 'q,tags\na,x\nb,\n'))
    await finish(run)
    const [list] = await rows<{ id: number }>(sql`select id from lists where name = 'members'`)
    const plan = await planList(
      desk,
      await order('members', '', {
        from: { kind: 'members', list: list?.id ?? 0 },
        kind: 'nightly',
      }),
    )
    expect(plan).toMatchObject({ rows: 2, accepted: 2, tasks: 2, queued: 2 })
    const tags = await rows(sql`
      select q, tags from list_queries join queries on queries.id = query_id
      where list_id = ${list?.id ?? 0} order by q`)
    expect(tags).toEqual([
      { q: 'a', tags: ['x'] },
      { q: 'b', tags: [] },
      { q: 'gone', tags: [] },
    ])
  })

  test('costs what calls of its kinds have cost, and nobody knows before the first', async () => {
    const wanted = await order('priced', 'q,device\na,mobile\nb,mobile\nc,\n')
    const market = { origin: 'live', api: 'api.example', account: 'priced' } as const
    const before = await planLists({ ...desk, market }, [wanted], 'never')
    expect(before.lists[0]?.estimate).toEqual({ credits: null, worst: null, basis: 'unknown' })
    const [account] = await rows<{ id: number }>(sql`
      insert into accounts (name, kind, obs_remaining, spent_since)
      values ('priced', 'live', 500, 20)
      returning id`)
    await sql`
      insert into account_costs (account_id, class, dearest, cheapest, seen)
      values (${account?.id ?? 0}, '10/mobile', 5, 2, 9), (${account?.id ?? 0}, '10/-', 1, 1, 9)`.execute(
      database.db,
    )
    const after = await planLists({ ...desk, market }, [wanted], 'never')
    expect(after.lists[0]?.estimate).toEqual({ credits: 11, worst: 11, basis: 'seen' })
    expect(after.purse).toMatchObject({ remaining: 480 })
  })
})
