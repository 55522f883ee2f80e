import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { settleSession } from '../../../src/base/database/database.ts'
import { freshUrl } from '../../support/database.ts'

async function connect() {
  const url = await freshUrl()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  const shown = async (name: string) =>
    (await client.query<{ value: string }>('select current_setting($1, true) as value', [name]))
      .rows[0]?.value
  return { url, client, shown }
}

test('the settings of an exclusive session apply from its first statement on', async () => {
  const { url, client, shown } = await connect()
  await settleSession(client, { lock_timeout: '2000', search_path: 'bullmq' }, url)
  expect([await shown('lock_timeout'), await shown('search_path')]).toEqual(['2s', 'bullmq'])
})

test('a setting that the server does not know is left out, and the others are applied', async () => {
  const { url, client, shown } = await connect()
  await settleSession(client, { no_such_timeout: '1', lock_timeout: '2000' }, url)
  expect(await shown('lock_timeout')).toBe('2s')
  expect(await shown('no_such_timeout')).toBeNull()
})

test('a method that the server was not built with is left out, and the others are applied', async () => {
  const { url, client, shown } = await connect()
  const before = await shown('default_toast_compression')
  await settleSession(client, { default_toast_compression: 'lz5', lock_timeout: '2000' }, url)
  expect(await shown('lock_timeout')).toBe('2s')
  expect(await shown('default_toast_compression')).toBe(before)
})

test('a value that the server rejects fails, and no connection continues without it', async () => {
  const { url, client } = await connect()
  await expect(settleSession(client, { lock_timeout: 'soon' }, url)).rejects.toMatchObject({
    code: '22023',
  })
})
