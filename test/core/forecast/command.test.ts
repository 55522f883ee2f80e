// @module-tag slow
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { run } from '../../support/run.ts'
import { openScene, queries } from '../../support/scene.ts'

test('the forecast of open tasks equals what the next drain pays, and changes nothing', async () => {
  const { api, mill } = await openScene({ api: { credits: 500, cost: 2 } })
  await mill.plan(queries(10))
  await mill.drain()
  await mill.plan(
    Array.from({ length: 30 }, (_, index) => `more ${index}`),
    { list: 'more' },
  )
  const { code, stdout } = await run('forecast', ['--json'], mill.env)
  expect(code).toBe(0)
  const { balance, steps } = JSON.parse(stdout)
  expect(balance).toBe(480)
  expect(steps).toMatchObject([{ kind: 'run', list: 'more', asked: 30, credits: 60, after: 420 }])
  await mill.drain()
  expect(api.books.balance).toBe(420)
})

test('an analyst reads the last computed forecast with its age, and computes none', async () => {
  const { mill } = await openScene({ api: { credits: 130, cost: 2 } })
  const read = async () => {
    const { rows } = await sql<Record<string, unknown>>`
      select account, origin, age < interval '1 minute' as young, kind, name, list, asked, bought, credits, after, cut
      from analysis.forecast order by step`.execute(mill.db)
    return rows
  }
  await run('forecast', ['--keep'], mill.env)
  expect(await read()).toEqual([])
  await mill.plan(queries(10))
  await mill.drain()
  await run('forecast', [], mill.env)
  expect(await read()).toEqual([])
  await run('forecast', ['--keep'], mill.env)
  const [account] = (await read()).map((row) => row['account'])
  const about = { account, origin: 'live', young: true }
  const nothing = { kind: null, name: null, list: null, asked: null, bought: null, credits: null }
  expect(await read()).toEqual([{ ...about, ...nothing, after: 110, cut: null }])
  const planned = await mill.plan(queries(20), { maxAgeMs: 0, list: 'more' })
  await run('forecast', ['--keep'], mill.env)
  expect(await read()).toEqual([
    {
      ...about,
      kind: 'run',
      name: String(planned),
      list: 'more',
      asked: 20,
      bought: 5,
      credits: 10,
      after: 100,
      cut: 'floor',
    },
  ])
})

test('a worker computes the forecast once for all, and not if it was just computed', async () => {
  const { mill } = await openScene({ api: { credits: 500 } })
  await mill.plan(queries(5))
  await mill.drain()
  const made = async () => {
    const { rows } = await sql<{ at: Date }>`select made_at as at from forecasts`.execute(mill.db)
    return rows.map(({ at }) => at)
  }
  expect((await run('nightly', ['--once'], mill.env)).code).toBeLessThan(2)
  const [first] = await made()
  expect(first).toBeInstanceOf(Date)
  await run('nightly', ['--once'], mill.env)
  expect(await made()).toEqual([first])
  await sql`update forecasts set asked_at = asked_at - interval '6 minutes'`.execute(mill.db)
  await run('work', ['--drain'], mill.env)
  const [later] = await made()
  expect(later).not.toEqual(first)
})
