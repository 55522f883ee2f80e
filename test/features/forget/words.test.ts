import { sql } from 'kysely'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { forgetWords } from '../../../src/features/forget/texts.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.close())

const page = '11111111-1111-1111-1111-111111111111'
const host = '22222222-2222-2222-2222-222222222222'

async function pages(): Promise<number> {
  const { rows } = await sql`select from pages where id = ${page}`.execute(database.db)
  return rows.length
}

async function note(): Promise<void> {
  await sql`
    insert into domains (id, host) values (${host}, 'a.example') on conflict do nothing`.execute(
    database.db,
  )
  await sql`
    insert into pages (id, domain_id, url, url_key) values (${page}, ${host}, 'https://a.example/', 'a.example')
    on conflict do nothing`.execute(database.db)
  await sql`
    insert into forgetting_words (kind, id) values ('pages', ${page}), ('domains', ${host})`.execute(
    database.db,
  )
}

test('an address named by an answer that is stored at the same moment stays, with its host', async () => {
  await note()
  const client = await database.pool.connect()
  await client.query('begin')
  await client.query(
    `insert into pages (id, url, url_key) values ('${page}', 'https://a.example/', 'a.example') on conflict do nothing`,
  )
  await client.query(
    `insert into organic_results (search_id, ordinal, page_id) values (1, 1, '${page}')`,
  )
  const forgetting = forgetWords(database.db)
  const waiting = async () => {
    const { rows } = await sql`
      select from pg_locks where not granted and relation = 'pages'::regclass`.execute(database.db)
    return rows.length
  }
  await expect.poll(waiting).toBe(1)
  await client.query('commit')
  client.release()
  await forgetting
  const { rows } = await sql`
    select url, url_key, host from pages join domains on domains.id = pages.domain_id`.execute(
    database.db,
  )
  expect(rows).toEqual([{ url: 'https://a.example/', url_key: 'a.example', host: 'a.example' }])
  expect((await sql`select from forgetting_words`.execute(database.db)).rows).toEqual([])
})

test('an address that no answer names is deleted, with its host', async () => {
  await sql`delete from organic_results`.execute(database.db)
  await note()
  expect(await forgetWords(database.db)).toMatchObject({ pages: 1, domains: 1, entities: 0 })
  expect(await pages()).toBe(0)
})

test('a transaction that writes to another database of the server is not awaited', async () => {
  const other = await freshDatabase()
  const client = await other.pool.connect()
  onTestFinished(async () => {
    client.release(true)
    await other.close()
  })
  await client.query(`begin; insert into domains (id, host) values ('${host}', 'a.example')`)
  await note()
  expect(await forgetWords(database.db)).toMatchObject({ pages: 1, domains: 1 })
})

test('a transaction that writes to this database is awaited', async () => {
  await note()
  const client = await database.pool.connect()
  await client.query(
    `begin; insert into domains (id, host) values (gen_random_uuid(), 'b.example')`,
  )
  let done = false
  const forgetting = forgetWords(database.db).then(() => (done = true))
  while ((await pages()) > 0) await new Promise((resolve) => setImmediate(resolve))
  expect(done).toBe(false)
  await client.query('rollback')
  client.release()
  await forgetting
  expect(await pages()).toBe(0)
})
