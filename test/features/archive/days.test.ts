import { afterAll, beforeAll, expect, test } from 'vitest'
import { stageRows } from '../../../src/features/archive/copy.ts'
import { readLeavingDays } from '../../../src/features/archive/days.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.close())

test('a day is archived when it is older than the age, and none after one with a call in flight', async () => {
  const { pool, db } = database
  await pool.query(`
    insert into lists (name, source) values ('l', '');
    insert into runs (list_id, run_date, kind, state)
    select 1, current_date - ago, 'nightly', 'done' from unnest(array[9, 8, 7, 2]) as ago`)
  const { rows } = await pool.query<{ day: string }>(
    'select run_date as day from runs order by run_date',
  )
  const [first, second, third] = rows.map(({ day }) => day)
  const olderMs = 5 * 86_400_000
  expect(await readLeavingDays(db, olderMs)).toEqual({ days: [first, second, third], kept: null })
  await pool.query(`
    insert into accounts (name, kind) values ('a', 'live');
    insert into tasks (run_id, query_id, slice, state)
    select id, gen_random_uuid(), 1, 'cancelled' from runs where run_date = current_date - 8;
    insert into calls (task_id, query_id, account_id, worker, sent_at, start_seq, start_total, credits_reserved, class)
    select id, query_id, 1, 1, now(), 0, 0, 1, '10 ' from tasks`)
  expect(await readLeavingDays(db, olderMs)).toMatchObject({ days: [first], kept: { day: second } })
})

test('the name of a type in a manifest is only a name, and never SQL', async () => {
  const client = await database.pool.connect()
  async function* none(): AsyncGenerator<Buffer> {}
  const columns = [{ name: 'name', type: 'text); drop table lists; --' }]
  await expect(stageRows(client, { table: 'lists', columns }, none())).rejects.toThrow(
    'expected a type name in the manifest',
  )
  client.release()
})
