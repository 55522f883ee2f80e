// Every worker briefly locks the run's row, so no process may lock it during long writes.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openDatabase, openPool } from '../../../src/base/database/database.ts'
import { planList } from '../../../src/core/enqueue/planning.ts'
import { cancelRun } from '../../../src/core/ledger/change-tasks.ts'
import { reopenTasks } from '../../../src/core/runs/retry.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { openOffice } from '../../support/office.ts'

const free = sql`select from runs for no key update nowait`

test('the row of a run that a list is added to is unlocked until the plan is written', async () => {
  const office = await openOffice()
  const { run } = await planList(office.desk, await office.order('kept', 'q\none\n'))
  let looked = false
  const order = await office.order('kept', 'q\none\ntwo\n', {
    budget: 7,
    record: async () => {
      await free.execute(office.desk.db)
      looked = true
    },
  })
  expect(await planList(office.desk, order)).toMatchObject({ run, joined: true, queued: 1 })
  expect(looked).toBe(true)
  expect(await office.rows(sql`select budget, rows from runs`)).toEqual([{ budget: 7, rows: 2 }])
  await office.close()
})

test('a run that is cancelled while a list is added to it stays cancelled, and the list is not planned', async () => {
  const office = await openOffice()
  const { run } = await planList(office.desk, await office.order('kept', 'q\none\n'))
  const order = await office.order('kept', 'q\none\ntwo\n', {
    record: async () => void (await cancelRun(office.desk.db, run)),
  })
  await expect(planList(office.desk, order)).rejects.toThrow('was cancelled while')
  expect(await office.rows(sql`select state from tasks`)).toEqual([{ state: 'cancelled' }])
  await office.close()
})

const tasks = 4500

async function largeRun({ db }: FreshDatabase, state: string): Promise<number> {
  await sql`insert into accounts (name, kind) values ('one', 'sandbox')`.execute(db)
  await sql`insert into lists (name, source) values ('large', '')`.execute(db)
  await sql`
    insert into runs (list_id, run_date, kind, state, max_age_ms)
    select id, current_date, 'nightly', 'open', 0 from lists`.execute(db)
  await sql`insert into slices (run_id, slice, priority) select id, 1, 5 from runs`.execute(db)
  await sql`
    insert into queries (id, key, q, num)
    select gen_random_uuid(), md5(n::text), n::text, 10 from generate_series(1, ${tasks}) as n`.execute(
    db,
  )
  await sql`
    insert into tasks (run_id, query_id, slice, priority, state, finished_at)
    select runs.id, queries.id, 1, 5, ${state}, case when ${state}::text = 'open' then null else now() end
    from queries, runs`.execute(db)
  const { id } = await db.selectFrom('runs').select('id').executeTakeFirstOrThrow()
  return id
}

/** Changes a run while another transaction locks one of its last tasks. The account, run and other tasks stay free. */
async function whileHeld<T>(database: FreshDatabase, change: () => Promise<T>): Promise<T> {
  const holder = await database.db.startTransaction().execute()
  await sql`select from tasks where id = (select max(id) from tasks) for update`.execute(holder)
  const changing = change()
  await expect
    .poll(async () => {
      const { rows } = await sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(database.db)
      return rows.length
    })
    .toBeGreaterThan(0)
  const pool = openPool(database.url, { name: 'buyer', max: 1 })
  const buyer = openDatabase(pool)
  await sql`select from accounts for no key update nowait`.execute(buyer)
  await sql`select from tasks where id = (select min(id) from tasks) for no key update nowait`.execute(
    buyer,
  )
  await pool.end()
  await holder.commit().execute()
  return changing
}

test('cancelling a large run locks neither the accounts nor more than a batch of its tasks', async () => {
  const database = await freshDatabase()
  const run = await largeRun(database, 'open')
  expect(await whileHeld(database, () => cancelRun(database.db, run))).toEqual({ cancelled: tasks })
  expect(await cancelRun(database.db, run)).toBe(null)
  await database.close()
})

test('reopening a large run locks neither the accounts nor more than a batch of its tasks', async () => {
  const database = await freshDatabase()
  const run = await largeRun(database, 'failed')
  const selection = {
    run,
    list: null,
    states: ['failed'],
    error: null,
    tag: null,
    since: null,
    buyAgain: false,
  }
  const reopened = await whileHeld(database, () => reopenTasks(database.db, selection, [run]))
  expect(reopened).toBe(tasks)
  await database.close()
})
