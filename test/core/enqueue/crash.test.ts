// A list and its run are written in two transactions. After an interruption, neither is partially written.
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { planList } from '../../../src/core/enqueue/planning.ts'
import type { ListOrder } from '../../../src/core/enqueue/staging.ts'
import { type Office, openOffice } from '../../support/office.ts'

let office: Office

beforeAll(async () => {
  office = await openOffice()
})

afterAll(async () => office.close())

/** Counts the stored rows of a list whose queries begin with its name. */
async function traces(list: string): Promise<Record<string, number>> {
  const [counted] = await office.rows<Record<string, number>>(sql`
    select
      (select count(*) from lists where name = ${list}) as lists,
      (select count(*) from queries where q like ${`${list} %`}) as queries,
      (select count(*) from list_queries join queries on id = query_id where q like ${`${list} %`}) as members,
      (select count(*) from runs join lists on lists.id = list_id where name = ${list}) as runs,
      (select count(*) from tasks join queries on queries.id = query_id where q like ${`${list} %`}) as tasks`)
  return counted ?? {}
}

const nothing = { lists: 0, queries: 0, members: 0, runs: 0, tasks: 0 }
const everything = { lists: 1, queries: 3, members: 3, runs: 1, tasks: 3 }

function orderOf(list: string, more: Partial<ListOrder> = {}): Promise<ListOrder> {
  return office.order(list, `q\n${list} a\n${list} b\n${list} c\n`, more)
}

/** Breaks the connection that writes the list or the one that writes the run. */
async function breakOne(which: 'list' | 'run', run: number): Promise<void> {
  const broken = await office.rows(sql`
    select pg_terminate_backend(pid, 5000)
    from pg_stat_activity
    where datname = current_database()
      and pid <> pg_backend_pid()
      and backend_type = 'client backend'
      and xact_start is not null
      and (pid = ${run}) = ${which === 'run'}`)
  expect(broken).toHaveLength(1)
}

describe('a plan that is interrupted', () => {
  test.each(['list', 'run'] as const)(
    'by a broken connection of its %s leaves nothing, and can be repeated',
    async (which) => {
      const name = `broken-${which}`
      const order = await orderOf(name, {
        record: async (trx) => {
          const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx)
          await breakOne(which, rows[0]?.pid ?? 0)
        },
      })
      await expect(planList(office.desk, order)).rejects.toThrow(/terminat|queryable|closed/i)
      expect(await traces(name)).toEqual(nothing)
      await planList(office.desk, await orderOf(name))
      expect(await traces(name)).toEqual(everything)
    },
  )

  test('between its two commits leaves a list without a run, and can be repeated', async () => {
    // The run is committed after the list.
    await sql`
      create function refuse() returns trigger language plpgsql as $$
      begin raise exception 'refused'; end $$`.execute(office.desk.db)
    await sql`
      create constraint trigger refused after insert on runs
      deferrable initially deferred for each row execute function refuse()`.execute(office.desk.db)
    await expect(planList(office.desk, await orderOf('between'))).rejects.toThrow('refused')
    expect(await traces('between')).toEqual({ ...everything, runs: 0, tasks: 0 })
    await sql`drop trigger refused on runs`.execute(office.desk.db)
    await planList(office.desk, await orderOf('between'))
    expect(await traces('between')).toEqual(everything)
  })

  test('by an error of the caller leaves nothing', async () => {
    const order = await orderOf('refused', { record: () => Promise.reject(new Error('taken')) })
    await expect(planList(office.desk, order)).rejects.toThrow('taken')
    expect(await traces('refused')).toEqual(nothing)
  })
})
