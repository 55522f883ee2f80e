import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { planList, queueRun } from '../../../src/core/enqueue/planning.ts'
import { type Office, openOffice } from '../../support/office.ts'

let office: Office

beforeAll(async () => {
  office = await openOffice()
})

afterAll(async () => office.close())

/** Stores an answer of the given age for every query of a run. */
async function answer(run: number, age: string, more: { origin?: string; broken?: boolean } = {}) {
  await sql`
    insert into searches (id, call_id, task_id, query_id, fetched_at, origin, api, parse_error)
    select
      coalesce((select max(id) from searches), 0) + row_number() over (), -id, id, query_id,
      now() - ${age}::interval, ${more.origin ?? 'sandbox'}, 'bundled',
      case when ${more.broken ?? false} then 'broken' end
    from tasks
    where run_id = ${run}`.execute(office.desk.db)
}

class Sink {
  readonly added: { run: number; slice: number; round: number; priority: number }[] = []
  async add(slices: readonly (typeof this.added)[number][]): Promise<void> {
    this.added.push(...slices)
  }
}

describe('an answer', () => {
  const text = `q\n${Array.from({ length: 30 }, (_, index) => `kept ${index}`).join('\n')}\n`
  const hour = 3_600_000

  test('that is recent enough is reused, and its tasks are in no queued slice', async () => {
    const first = await planList(office.desk, await office.order('reuse', text))
    await answer(first.run, '10 minutes')
    await office.finish(first.run)
    const more = await office.order('reuse', `${text}new one\n`, { maxAgeMs: hour })
    const second = await planList(office.desk, more)
    expect(second).toMatchObject({ tasks: 31, queued: 1, reused: 30, done: false })
    expect((await office.slicesOf(second.run)).filter(({ open }) => open)).toMatchObject([
      { tasks: 1 },
    ])
    const reused = await office.rows(sql`
      select from tasks
      where run_id = ${second.run} and state = 'reused' and search_id is not null and finished_at is not null`)
    expect(reused).toHaveLength(30)
  })

  test('for every query ends the run at once', async () => {
    const plan = await planList(
      office.desk,
      await office.order('reuse-all', text, { maxAgeMs: hour }),
    )
    expect(plan).toMatchObject({ queued: 0, reused: 30, done: true })
    const [run] = await office.rows(
      sql`select state, finished_at is not null as ended from runs where id = ${plan.run}`,
    )
    expect(run).toEqual({ state: 'done', ended: true })
    const sink = new Sink()
    expect(await queueRun(office.desk, sink, plan.run)).toBe(0)
  })

  test.each([
    ['too old', '2 hours', {}],
    ['of another origin', '1 minute', { origin: 'live' }],
  ])('%s is bought again', async (name, age, more) => {
    const list = `stale ${name}`
    const first = await planList(office.desk, await office.order(list, `q\n${name} x\n`))
    await answer(first.run, age, more)
    await office.finish(first.run)
    const second = await planList(
      office.desk,
      await office.order(list, `q\n${name} x\n`, { maxAgeMs: hour }),
    )
    expect(second).toMatchObject({ queued: 1, reused: 0 })
  })

  test('that cannot be read is reused and reported as unreadable, unless a readable one exists', async () => {
    const file = 'q\nbroken x\nbroken y\n'
    const first = await planList(office.desk, await office.order('broken', file))
    await answer(first.run, '1 minute', { broken: true })
    await office.finish(first.run)
    const again = { maxAgeMs: hour }
    const second = await planList(office.desk, await office.order('broken', file, again))
    expect(second).toMatchObject({ queued: 0, reused: 2, unreadable: 2 })
    const other = await planList(office.desk, await office.order('other', 'q\nbroken y\n'))
    await answer(other.run, '30 minutes')
    await office.finish(other.run)
    const third = await planList(office.desk, await office.order('broken', file, again))
    expect(third).toMatchObject({ queued: 0, reused: 2, unreadable: 1 })
  })

  test('of any age is bought again if the maximum age is 0', async () => {
    expect(await planList(office.desk, await office.order('buy-all', text))).toMatchObject({
      queued: 30,
      reused: 0,
    })
  })
})
