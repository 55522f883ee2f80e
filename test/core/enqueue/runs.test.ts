import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { planList, planLists, queueRun } from '../../../src/core/enqueue/planning.ts'
import { type Office, openOffice } from '../../support/office.ts'

const noLimits = { floor: 0, budget: null }

let office: Office

beforeAll(async () => {
  office = await openOffice()
})

afterAll(async () => office.close())

class Sink {
  readonly added: { run: number; slice: number; round: number; priority: number }[] = []
  async add(slices: readonly (typeof this.added)[number][]): Promise<void> {
    this.added.push(...slices)
  }
}

describe('a run', () => {
  test('has every open slice queued, each time it is requested', async () => {
    const lines = Array.from({ length: 51 }, (_, index) => `queue ${index}`).join('\n')
    const { run } = await planList(office.desk, await office.order('queued', `q\n${lines}\n`))
    await sql`update slices set done_at = now() where run_id = ${run} and slice = 2`.execute(
      office.desk.db,
    )
    await sql`update tasks set state = 'answered' where run_id = ${run} and slice = 2`.execute(
      office.desk.db,
    )
    for (const _ of [1, 2]) {
      const sink = new Sink()
      await queueRun(office.desk, sink, run)
      expect(sink.added.map(({ slice, round }) => [slice, round])).toEqual([
        [1, 0],
        [3, 0],
      ])
    }
  })

  test('that is interrupted while its list is read never existed', async () => {
    async function* broken(): AsyncGenerator<Buffer> {
      yield Buffer.from(`q\n${'some words\n'.repeat(50_000)}`)
      throw new Error('cut off')
    }
    const order = await office.order('cut', '', { from: { kind: 'stream', stream: broken() } })
    await expect(planList(office.desk, order)).rejects.toThrow('cut off')
    expect(await office.rows(sql`select from lists where name = 'cut'`)).toEqual([])
    expect(await office.rows(sql`select from queries where q = 'some words'`)).toEqual([])
  })

  test('of a night is stored together with the caller’s record, or not at all', async () => {
    const night = { kind: 'nightly', runDate: '2026-11-20', budget: 50 } as const
    const recorded: number[] = []
    const good = await office.order('night', 'q\na\n', {
      ...night,
      record: async (_, run) => void recorded.push(run),
    })
    const plan = await planList(office.desk, good)
    expect(recorded).toEqual([plan.run])
    const [run] = await office.rows(
      sql`select kind, run_date, budget from runs where id = ${plan.run}`,
    )
    expect(run).toEqual({ kind: 'nightly', run_date: '2026-11-20', budget: 50 })
    const taken = new Error('taken')
    const bad = await office.order('night-lost', 'q\na\n', {
      ...night,
      record: () => Promise.reject(taken),
    })
    await expect(planList(office.desk, bad)).rejects.toBe(taken)
    expect(await office.rows(sql`select from lists where name = 'night-lost'`)).toEqual([])
  })

  test('without its file is planned from the last reading of the list', async () => {
    await planList(office.desk, await office.order('members', 'q,tags\na,x\ngone,\n'))
    const { run } = await planList(
      office.desk,
      await office.order('members', 'q,tags\na,x\nb,\n', { ifRemoved: 'keep' }),
    )
    await office.finish(run)
    const [list] = await office.rows<{ id: number }>(
      sql`select id from lists where name = 'members'`,
    )
    const held = sql`select query_id, last_seen::text from list_queries where list_id = ${list?.id ?? 0} order by query_id`
    const before = await office.rows(held)
    const plan = await planList(
      office.desk,
      await office.order('members', '', {
        from: { kind: 'members', list: list?.id ?? 0 },
        kind: 'nightly',
      }),
    )
    expect(plan).toMatchObject({ rows: 2, accepted: 2, tasks: 2, queued: 2 })
    // Nothing was read, so the list is unchanged.
    expect(await office.rows(held)).toEqual(before)
    const tags = await office.rows(sql`
      select q, tags from list_queries join queries on queries.id = query_id
      where list_id = ${list?.id ?? 0} order by q`)
    expect(tags).toEqual([
      { q: 'a', tags: ['x'] },
      { q: 'b', tags: [] },
      { q: 'gone', tags: [] },
    ])
  })

  test('costs what calls of its classes have cost, which is unknown before the first', async () => {
    const wanted = await office.order('priced', 'q,device\na,mobile\nb,mobile\nc,\n')
    const supplier = { origin: 'live', api: 'api.example', account: 'priced' } as const
    const before = await planLists(
      { ...office.desk, supplier },
      { orders: [wanted], ...noLimits },
      'never',
    )
    expect(before.lists[0]?.estimate).toEqual({ credits: null, worst: null, basis: 'unknown' })
    const [account] = await office.rows<{ id: number }>(sql`
      insert into accounts (name, kind, obs_remaining, spent_since)
      values ('priced', 'live', 500, 20)
      returning id`)
    await sql`
      insert into account_costs (account_id, class, dearest, cheapest, seen)
      values (${account?.id ?? 0}, '10/mobile', 5, 2, 9), (${account?.id ?? 0}, '10/-', 1, 1, 9)`.execute(
      office.desk.db,
    )
    const after = await planLists(
      { ...office.desk, supplier },
      { orders: [wanted], ...noLimits },
      'never',
    )
    expect(after.lists[0]?.estimate).toEqual({ credits: 11, worst: 11, basis: 'seen' })
    const { balance } = after.totals
    expect(balance.remaining).toBe(500)
    expect(balance.after).toBe(500 - (balance.open ?? NaN) - 11)
  })
})
