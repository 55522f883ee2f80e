// @module-tag slow
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openDatabase, openPool } from '../../src/base/database/database.ts'
import { freshDatabase } from '../support/database.ts'
import { openScene, queries } from '../support/scene.ts'
import { replaceDatabase } from './servers.ts'
import { witnessPace, witnessSums, witnessTasks } from './witness.ts'

test('an answer that is stored for another query is detected by its body, its rows and its call', async () => {
  const { mill } = await openScene()
  await mill.plan(queries(4))
  await mill.drain()
  expect(await witnessSums(mill.db)).toMatchObject({ calls: 4, received: 4, wrong: 0, misdated: 0 })
  await sql`
    update raw_answers
    set body = convert_to(replace(convert_from(body, 'UTF8'), '"query":"query 1"', '"query":"other"'), 'UTF8')`.execute(
    mill.db,
  )
  expect((await witnessSums(mill.db)).wrong).toBe(1)
  await sql`
    update search_related_searches
    set related_search_id = (select id from related_searches where q like 'query 3%' limit 1)
    where search_id = (select id from searches order by id offset 1 limit 1) and ordinal = 1`.execute(
    mill.db,
  )
  expect((await witnessSums(mill.db)).wrong).toBe(2)
  await sql`
    update tasks
    set search_id = (select max(search_id) from tasks)
    where id = (select id from tasks order by search_id offset 2 limit 1)`.execute(mill.db)
  expect((await witnessSums(mill.db)).wrong).toBe(3)
  await sql`update searches set fetched_at = fetched_at - interval '1 hour' where id = 1`.execute(
    mill.db,
  )
  expect((await witnessSums(mill.db)).misdated).toBe(1)
})

test('calls that may have been charged are counted by task, without those rejected at no cost or released unsent', async () => {
  const { mill } = await openScene()
  await mill.plan(['a'])
  await mill.drain()
  expect(await witnessTasks(mill.db)).toEqual([
    { q: 'a', state: 'answered', ambiguous: 0, chargeable: 1 },
  ])
  await sql`update calls set http_status = 429`.execute(mill.db)
  expect(await witnessTasks(mill.db)).toMatchObject([{ chargeable: 0 }])
  await sql`update calls set http_status = null, outcome = 'unsent'`.execute(mill.db)
  expect(await witnessTasks(mill.db)).toMatchObject([{ chargeable: 0 }])
})

test('the pace shows settled answers, due tasks, and stopped accounts', async () => {
  const { mill } = await openScene({ api: { credits: 120 } })
  await mill.plan(queries(40))
  const before = await witnessPace(mill.db)
  expect(before).toMatchObject({ due: 40, accounts: [] })
  await mill.drain()
  const after = await witnessPace(mill.db)
  expect(after.settled).not.toBe(before.settled)
  expect(after.due).toBeLessThan(40)
  expect(after.due).toBeGreaterThan(0)
  expect(after.accounts).toMatchObject([{ stopped: true }])
})

test('a restored copy of a database contains the data of its time, and closes all connections', async () => {
  const database = await freshDatabase()
  const name = new URL(database.url).pathname.slice(1)
  const copy = `${name}_earlier`
  await sql`insert into lists (name, source) values ('before', 'a.csv')`.execute(database.db)
  await replaceDatabase(database.url, { from: name, to: copy })
  await sql`insert into lists (name, source) values ('after', 'b.csv')`.execute(database.db)
  const client = await database.pool.connect()
  const broken = new Promise((resolve) => client.once('error', resolve))
  await replaceDatabase(database.url, { from: copy, to: name })
  await broken
  client.release(true)
  const { rows } = await sql<{ name: string }>`select name from lists`.execute(database.db)
  expect(rows).toEqual([{ name: 'before' }])
  const admin = openDatabase(openPool(database.url, { name: 'test', max: 1 }))
  await sql`drop database ${sql.id(copy)}`.execute(admin)
  await admin.destroy()
  await database.close()
})
