import { expect, onTestFinished, test } from 'vitest'
import { openDatabase, openPool, probeDatabase } from '../../../src/base/database/database.ts'
import { reaching } from '../../../src/base/database/trouble.ts'
import { Unreachable } from '../../../src/base/errors.ts'
import { freshUrl } from '../../support/database.ts'
import { openWay } from '../../support/way.ts'

async function openPoolBy(url: string) {
  const way = await openWay(url)
  const pool = openPool(way.url, { name: 'test', max: 2 })
  onTestFinished(() => pool.end())
  return { pool, hangUp: way.hangUp }
}

const noted = (error: unknown) => error

test('a connection that ends during a query has the error code of a broken one', async () => {
  const { pool, hangUp } = await openPoolBy(await freshUrl())
  const client = await pool.connect()
  const asked = client.query('select pg_sleep(60)').catch(noted)
  const beside = pool.query('select pg_sleep(60)').catch(noted)
  await expect.poll(() => pool.totalCount - pool.idleCount - pool.waitingCount).toBe(2)
  hangUp()
  expect(await asked).toMatchObject({ code: '08006' })
  expect(await beside).toMatchObject({ code: '08006' })
  expect(await client.query('select 1').catch(noted)).toMatchObject({ code: '08006' })
  client.release(true)
})

test('a server that closes every connection is unreachable, not a bug', async () => {
  const { pool, hangUp } = await openPoolBy(await freshUrl())
  hangUp()
  const db = openDatabase(pool)
  const opened = reaching('the database', () => db.selectFrom('runs').select('id').execute())
  await expect(opened).rejects.toThrow(Unreachable)
  await expect(probeDatabase(db)).rejects.toThrow(Unreachable)
})

test('an error of the server keeps its own code', async () => {
  const { pool } = await openPoolBy(await freshUrl())
  await expect(pool.query('select 1/0')).rejects.toMatchObject({ code: '22012' })
})

test('long bodies are compressed with the cheapest method that the server supports', async () => {
  const { pool } = await openPoolBy(await freshUrl())
  await pool.query(
    `insert into raw_answers (call_id, status, received_at, truncated, body)
     values (1, 200, now(), false, convert_to(repeat('a body ', 10000), 'UTF8'))`,
  )
  const { rows } = await pool.query<{ used: string; ways: string[] }>(
    `select pg_column_compression(body) as used, s.enumvals as ways
     from raw_answers, pg_settings s
     where s.name = 'default_toast_compression'`,
  )
  const [{ used, ways } = { used: '', ways: [] }] = rows
  expect(ways).toContain('pglz')
  expect(used).toBe(ways.includes('lz4') ? 'lz4' : 'pglz')
})
