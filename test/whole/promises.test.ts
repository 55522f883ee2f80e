// @module-tag slow
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { freshDatabase } from '../support/database.ts'
import type { TestMill } from '../support/mill.ts'
import { backends } from '../support/redis.ts'
import { run } from '../support/run.ts'
import { openScene, queries } from '../support/scene.ts'

async function rows<T>(mill: TestMill, text: string): Promise<T[]> {
  return (await sql<T>`${sql.raw(text)}`.execute(mill.db)).rows
}

test('a slice that is delivered twice is bought once', async () => {
  const { api, mill } = await openScene()
  const id = await mill.plan(queries(20))
  const queue = await mill.queue()
  await sql`update slices set round = 1 where run_id = ${id}`.execute(mill.db)
  await queue.add([{ run: id, slice: 0, round: 1, priority: 5, turn: null }])
  await mill.drain()
  await sql`update slices set done_at = null, round = 2 where run_id = ${id}`.execute(mill.db)
  await sql`update runs set state = 'open' where id = ${id}`.execute(mill.db)
  await queue.add([{ run: id, slice: 0, round: 2, priority: 5, turn: null }])
  expect((await mill.drain()).calls).toBe(0)
  expect(api.charges()).toHaveLength(20)
})

test('a failed, an unknown and an unaffordable task have a code and no result rows', async () => {
  const { mill } = await openScene({
    api: {
      faults: [
        { kind: 'status', status: 400, match: 'query 1' },
        { kind: 'drop', match: 'query 2' },
      ],
    },
    settings: { MILL_UNKNOWN: 'hold' },
  })
  await mill.plan(['query 1', 'query 2'], { list: 'refused' })
  await mill.plan(['query 3'], { list: 'poor', budget: 0 })
  await mill.drain()
  expect(
    await rows(
      mill,
      'select state, error_code is not null as said, search_id from tasks order by state',
    ),
  ).toEqual([
    { state: 'failed', said: true, search_id: null },
    { state: 'unaffordable', said: true, search_id: null },
    { state: 'unknown', said: true, search_id: null },
  ])
  expect(
    await rows(
      mill,
      'select (select count(*) from searches) as answers, (select count(*) from organic_results) as results',
    ),
  ).toEqual([{ answers: 0, results: 0 }])
})

test('an answer of another origin or another API is never reused', async () => {
  const database = await freshDatabase()
  const live = await openScene({ database })
  await live.mill.plan(queries(3), { list: 'live' })
  await live.mill.drain()
  const mock = await openScene({ database, api: { kind: 'test' } })
  await mock.mill.plan(queries(3), { list: 'mock', maxAgeMs: 3_600_000 })
  expect(await mock.mill.drain()).toMatchObject({ answered: 3, reused: 0 })
  const other = await openScene({ database })
  await other.mill.plan(queries(3), { list: 'other', maxAgeMs: 3_600_000 })
  expect(await other.mill.drain()).toMatchObject({ answered: 3, reused: 0 })
  expect(
    await rows(
      other.mill,
      'select origin, count(distinct api) as apis from searches group by origin order by origin',
    ),
  ).toEqual([
    { origin: 'live', apis: 2 },
    { origin: 'test', apis: 1 },
  ])
})

test('analysis shows only live answers, unless the setting names other origins', async () => {
  const { mill } = await openScene({ api: { kind: 'test' } })
  await mill.plan(queries(2))
  await mill.drain()
  expect(await rows(mill, 'select count(*) as n from analysis.rank_history')).toEqual([{ n: 0 }])
  const shown = await mill.db.transaction().execute(async (trx) => {
    await sql`set local querymill.origins = 'live,test'`.execute(trx)
    return (await sql<{ n: number }>`select count(*) as n from analysis.rank_history`.execute(trx))
      .rows
  })
  expect(shown[0]?.n).toBeGreaterThan(0)
})

test.each(backends)(
  'the key is nowhere after work with every kind of fault on $name',
  async (backend) => {
    const secret = 'sk_live_Zq7XfakeFAKEfake0123456789'
    const { api, mill } = await openScene({
      backend,
      api: {
        key: secret,
        faults: [
          { kind: 'status', status: 500, match: 'query 1' },
          { kind: 'redirect', match: 'query 2' },
          { kind: 'drop', match: 'query 3' },
          { kind: 'echo', match: 'query 4' },
          { kind: 'status', status: 401, from: 14 },
        ],
      },
    })
    await mill.plan(queries(12))
    const outputs = [
      await run('work', ['--drain', '--json'], mill.env),
      await run('status', ['--settings'], mill.env),
      await run('status', ['--unknown'], mill.env),
      await run('verify', [], mill.env),
    ]
    const seen = outputs.map(({ stdout, stderr }) => stdout + stderr).join('\n')
    const kept = [seen, filesBelow(mill.config.home), await everyRow(mill)].join('\n')
    expect(api.charges().length).toBeGreaterThan(0)
    const forms = [secret, secret.slice(8), Buffer.from(secret).toString('base64').slice(0, -4)]
    for (const form of forms) expect(kept.includes(form)).toBe(false)
  },
)

function filesBelow(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n')
}

/** Every row of every table of the database, including the queue's, as text. */
async function everyRow(mill: TestMill): Promise<string> {
  const tables = await rows<{ name: string }>(
    mill,
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname in ('public', 'bullmq', 'migrations', 'service')`,
  )
  const texts: string[] = []
  for (const { name } of tables) {
    const found = await rows<{ text: string }>(mill, `select t::text as text from ${name} t`)
    texts.push(...found.map(({ text }) => text))
  }
  return texts.join('\n')
}
