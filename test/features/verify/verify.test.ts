// @module-tag slow
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { queryId, queryKey } from '../../../src/base/query.ts'
import { planList } from '../../../src/core/enqueue/planning.ts'
import { rebuild } from '../../../src/core/runs/rebuild.ts'
import { verifyPromises } from '../../support/promises.ts'
import { type Office, openOffice } from '../../support/office.ts'
import { run } from '../../support/run.ts'
import { openScene, queries } from '../../support/scene.ts'

let office: Office

beforeAll(async () => {
  office = await openOffice()
})

afterAll(async () => office.close())

async function broken(): Promise<Record<string, number>> {
  const checks = await verifyPromises(office.desk.db)
  return Object.fromEntries(
    checks.filter(({ ok }) => !ok).map(({ name, violations }) => [name, violations]),
  )
}

test('a planned list violates no check', async () => {
  await planList(office.desk, await office.order('kept', 'q,gl\nmünchen "x",us\na,\n日本語,jp\n'))
  expect(await broken()).toEqual({})
})

test('an answer bought a second time although the first one exists is found', async () => {
  const scene = await openScene()
  const { mill } = scene
  await mill.plan(['shoes'])
  await mill.drain()
  const twice = async () => {
    const checks = await verifyPromises(mill.db)
    return checks.filter(({ ok }) => !ok).map(({ name }) => name)
  }
  expect(await twice()).toEqual([])
  // As if the answer had been lost without a request to buy it again.
  await sql`update tasks set state = 'open', search_id = null, finished_at = null`.execute(mill.db)
  await sql`update slices set done_at = null, round = round + 1`.execute(mill.db)
  await sql`update runs set state = 'open', finished_at = null`.execute(mill.db)
  await rebuild(mill, 1)
  await mill.drain()
  const name = 'a task is paid once, and again only after an unknown outcome or on request'
  expect(await twice()).toEqual([name])
  await sql`update tasks set answers_after = (select min(fetched_at) from searches)`.execute(
    mill.db,
  )
  expect(await twice()).toEqual([])
})

test('each sum of an account and of a run that does not match its calls is found', async () => {
  const { mill } = await openScene()
  await mill.plan(['shoes'])
  await mill.drain()
  const foundAfter = async (by: string) => {
    await sql.raw(by).execute(mill.db)
    const checks = await verifyPromises(mill.db)
    return checks.filter(({ ok }) => !ok).map(({ name }) => name)
  }
  const sums = [
    ['accounts', 'used_total', 'the credits used by an account match its settled calls'],
    ['accounts', 'reserved', 'the credits reserved by an account match its calls in flight'],
    [
      'accounts',
      'uncertain',
      'the credits held by an account match its calls with an unknown outcome',
    ],
    ['runs', 'reserved', 'the credits of each run match its calls'],
    ['runs', 'spent', 'the credits of each run match its calls'],
    ['runs', 'uncertain', 'the credits of each run match its calls'],
  ] as const
  for (const [table, column, name] of sums) {
    expect(await foundAfter(`update ${table} set ${column} = ${column} + 1`)).toContain(name)
    expect(await foundAfter(`update ${table} set ${column} = ${column} - 1`)).toEqual([])
  }
})

test('a task with two calls in flight, or with the answer of another task, is found', async () => {
  const { mill } = await openScene()
  await mill.plan(['shoes', 'hats'])
  await mill.drain()
  const foundAfter = async (by: string) => {
    await sql.raw(by).execute(mill.db)
    const checks = await verifyPromises(mill.db)
    return checks.filter(({ ok }) => !ok).map(({ name }) => name)
  }
  const swap =
    'update tasks set search_id = other.search_id from tasks other where tasks.id <> other.id'
  expect(await foundAfter(swap)).toContain(
    'each answered, reused or not asked task has an answer, and no other task has one',
  )
  // An index prevents this, so the index must be damaged.
  const twice = `
    ${swap};
    drop index calls_task_in_flight, calls_query_in_flight;
    update calls set task_id = (select min(id) from tasks), outcome = null`
  expect(await foundAfter(twice)).toContain('a task has at most one call in flight')
})

test('a query marked as not asked is found if it was bought, has no answer, or has a later one', async () => {
  const { mill } = await openScene()
  await mill.plan(['shoes'])
  await mill.drain()
  await sql`update runs set run_date = run_date - 9`.execute(mill.db)
  const later = await mill.plan(['shoes'], { list: 'later' })
  await sql`update slices set done_at = now()`.execute(mill.db)
  await sql`update runs set state = 'done', finished_at = now()`.execute(mill.db)
  const foundAfter = async (by: string) => {
    await sql.raw(by).execute(mill.db)
    const checks = await verifyPromises(mill.db)
    return checks.filter(({ ok }) => !ok).map(({ name }) => name)
  }
  const rests =
    'a query that was not asked cost nothing, and no answer of a later day is used for it'
  const has = 'each answered, reused or not asked task has an answer, and no other task has one'
  const rest = `update tasks set state = 'not_asked', finished_at = now()`
  expect(await foundAfter(`${rest} where run_id = ${later}`)).toEqual([has])
  const given = `update tasks set search_id = (select max(id) from searches)`
  expect(await foundAfter(given)).toEqual([])
  const day = (days: number) => `update runs set run_date = run_date + ${days} where id <> ${later}`
  expect(await foundAfter(day(99))).toEqual([rests])
  expect(await foundAfter(day(-99))).toEqual([])
  expect(await foundAfter(rest)).toEqual([rests])
})

test('an item of a block that names an unknown page or host is found', async () => {
  const { mill } = await openScene()
  await mill.plan(['shoes'])
  await mill.drain()
  const put = (column: string) =>
    sql`insert into search_features (search_id, ordinal, kind, ${sql.ref(column)})
      select id, 1, 'ads', gen_random_uuid() from searches`.execute(mill.db)
  for (const column of ['page_id', 'domain_id']) {
    await sql`truncate search_features`.execute(mill.db)
    await put(column)
    const checks = await verifyPromises(mill.db)
    expect(
      checks.filter(({ ok }) => !ok).map(({ name, violations }) => [name, violations]),
    ).toEqual([['each item of a SERP feature names a known page and a known host', 1]])
  }
  const { code, stdout } = await run('verify', [], mill.env)
  expect(code).toBe(1)
  expect(stdout).toContain('Accounts and balances: 13 checks hold\n')
  expect(stdout).toContain(`Rows of answers: 6 of 7 checks hold
  each item of a SERP feature names a known page and a known host: 1 violation
`)
})

test('a query with a wrong id is found', async () => {
  const query = { q: 'astray', location: null, hl: null, gl: null, num: 10, device: null }
  const key = queryKey(query)
  const id = queryId(queryKey({ ...query, num: 20 }))
  await office.desk.db
    .insertInto('queries')
    .values({ id, key, ...query })
    .execute()
  expect(await broken()).toEqual({ 'the id of each query is derived from its key': 1 })
  await sql`delete from queries where id = ${id}`.execute(office.desk.db)
})

test('external spend is reported, and the exit code is 1 once it is above --max-external', async () => {
  const { api, mill } = await openScene({ api: { credits: 10_000 } })
  await mill.plan(queries(5))
  await mill.drain()
  // Others spend 1,500 credits of the account between two drains.
  api.renew(api.balance() - 1_500)
  await mill.plan(queries(10))
  await mill.drain()
  const told = 'external spend of 127.0.0.1'
  for (const [flags, code] of [
    [[], 0],
    [['--max-external', '1500'], 0],
    [['--max-external', '1,499'], 2],
    [['--max-external', '-1'], 2],
  ] as const) {
    const { code: ended, stderr } = await run('verify', flags, mill.env)
    expect(ended, stderr).toBe(code)
    expect(stderr).not.toContain(told)
  }
  const over = await run('verify', ['--max-external', '1499', '--json'], mill.env)
  expect(over.code).toBe(1)
  expect(over.stderr).toContain(told)
  expect(over.stderr).toContain('1,500 credits, more than --max-external 1499')
  expect(JSON.parse(over.stdout)).toMatchObject({ ok: false, credits: [{ unexplained: 1_500 }] })
})
