import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDatabase, openPool, travel } from '../../../src/base/database/database.ts'
import { troubleOf } from '../../../src/base/database/trouble.ts'
import { freshUrl } from '../../support/database.ts'

async function open() {
  const url = await freshUrl()
  const pool = openPool(url, { name: 'test', max: 4 })
  onTestFinished(() => pool.end())
  await pool.query('create table notes (id integer primary key, text text)')
  const notes = async () => {
    const { rows } = await pool.query<{ id: number }>('select id from notes order by id')
    return rows.map(({ id }) => id)
  }
  return { pool, db: openDatabase(pool), notes }
}

const note = (id: number) => sql<{ id: number }>`insert into notes (id) values (${id}) returning id`

describe('a pipelined transaction', () => {
  test('sends statements before earlier results arrive, and commits with the last', async () => {
    const { db, notes } = await open()
    const held = await travel(db, async (trip) => {
      const slow = trip.run(sql`select pg_sleep(0.2)`)
      let answered = false
      void slow.then(() => (answered = true))
      const first = trip.run(note(1))
      const last = trip.end(note(2))
      expect(answered).toBe(false)
      expect(await first).toEqual([{ id: 1 }])
      expect(await last).toEqual([{ id: 2 }])
      expect(await notes()).toEqual([1, 2])
      return 'kept'
    })
    expect(held).toBe('kept')
  })

  test('commits without a last statement what was sent before', async () => {
    const { db, notes } = await open()
    await travel(db, async (trip) => void trip.run(note(1)))
    expect(await notes()).toEqual([1])
  })

  test('returns its result and its connection if it has no statement', async () => {
    const { db, pool } = await open()
    expect(await travel(db, async () => 7)).toBe(7)
    expect(pool.idleCount).toBe(pool.totalCount)
  })

  test('sees in each statement what was committed before, as locks require', async () => {
    const { db, pool } = await open()
    await pool.query("insert into notes values (1, 'old')")
    const other = await pool.connect()
    await other.query('begin')
    await other.query('select from notes where id = 1 for update')
    const read = travel(db, (trip) => {
      void trip.run(sql`select from notes where id = 1 for update`)
      return trip.run(sql<{ text: string }>`select text from notes where id = 1`)
    })
    await expect
      .poll(async () => {
        const waiting = await pool.query(
          "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        )
        return waiting.rowCount
      })
      .toBe(1)
    await other.query("update notes set text = 'new' where id = 1")
    await other.query('commit')
    other.release()
    expect(await read).toEqual([{ text: 'new' }])
  })
})

describe('a failing pipelined transaction', () => {
  test('keeps nothing, and reports the first failure', async () => {
    const { db, notes } = await open()
    const failed = travel(db, async (trip) => {
      void trip.run(note(1))
      void trip.run(note(1))
      // Fails with "current transaction is aborted", which does not name the cause.
      return trip.run(note(2))
    })
    await expect(failed).rejects.toMatchObject({ code: '23505' })
    expect(await notes()).toEqual([])
  })

  test('in its last statement does not look like a commit', async () => {
    const { db, notes } = await open()
    const failed = travel(db, async (trip) => {
      void trip.run(note(1))
      return trip.end(note(1))
    })
    await expect(failed).rejects.toMatchObject({ code: '23505' })
    expect(await notes()).toEqual([])
  })

  test('in a statement that is not awaited fails anyway', async () => {
    const { db, notes } = await open()
    const failed = travel(db, async (trip) => {
      void trip.run(note(1))
      void trip.run(sql`select 1 / 0`)
      return 'done'
    })
    await expect(failed).rejects.toMatchObject({ code: '22012' })
    expect(await notes()).toEqual([])
  })

  test('by an error between two statements returns its connection without a transaction', async () => {
    const { db, pool, notes } = await open()
    const failed = travel(db, async (trip) => {
      await trip.run(note(1))
      throw new Error('no such thing')
    })
    await expect(failed).rejects.toThrow('no such thing')
    expect(await notes()).toEqual([])
    const { rows } = await pool.query(
      "select count(*)::int as count from pg_stat_activity where state like 'idle in%' and datname = current_database()",
    )
    expect(rows).toEqual([{ count: 0 }])
  })

  test('by a broken connection is unreachable, and the next one gets another connection', async () => {
    const { db, pool, notes } = await open()
    const failed = travel(db, async (trip) => {
      void trip.run(note(1))
      void trip.run(sql`select pg_terminate_backend(pg_backend_pid())`)
      return trip.end(note(2))
    })
    const error: unknown = await failed.catch((thrown: unknown) => thrown)
    expect(troubleOf(error)).toBe('away')
    await travel(db, (trip) => trip.end(note(3)))
    expect(await notes()).toEqual([3])
    expect(pool.waitingCount).toBe(0)
  })
})
