import { describe, expect, onTestFinished, test } from 'vitest'
import { openPool } from '../../src/store/database.ts'
import { freshUrl } from '../support/database.ts'

async function open(byKey: boolean) {
  const pool = openPool(await freshUrl(), { name: 'test', max: 1, byKey })
  onTestFinished(() => pool.end())
  const kept = async () => {
    const { rows } = await pool.query<{ statement: string }>(
      'select statement from pg_prepared_statements order by prepare_time',
    )
    return rows.map(({ statement }) => statement)
  }
  return { pool, kept }
}

describe('a connection whose statements go by key', () => {
  test('keeps the plan of a statement that comes again, not of one that passes once', async () => {
    const { pool, kept } = await open(true)
    await pool.query('select $1::int as once', [1])
    for (const number of [1, 2, 3]) {
      const { rows } = await pool.query('select $1::int + 1 as next', [number])
      expect(rows).toEqual([{ next: number + 1 }])
    }
    expect(await kept()).toEqual(['select $1::int + 1 as next'])
  })

  test('keeps a bounded number of them', async () => {
    const { pool, kept } = await open(true)
    for (let number = 0; number < 60; number += 1) {
      await pool.query(`select $1::int + ${number}`, [1])
      await pool.query(`select $1::int + ${number}`, [1])
    }
    expect(await kept()).toHaveLength(50)
  })

  test('goes on after a statement that failed when it was planned', async () => {
    const { pool } = await open(true)
    const ask = () => pool.query('select id from later where id = $1', [1])
    await expect(ask()).rejects.toMatchObject({ code: '42P01' })
    await expect(ask()).rejects.toMatchObject({ code: '42P01' })
    await pool.query('create table later (id integer)')
    expect((await ask()).rows).toEqual([])
    await pool.query('alter table later add column other integer')
    expect((await ask()).rows).toEqual([])
  })

  test('plans anew after some uses, since a table that was small may have grown', async () => {
    const { pool, kept } = await open(true)
    await pool.query('create table grown (id integer primary key, text text)')
    await pool.query('insert into grown values (1)')
    await pool.query('analyze grown')
    const text = `
      update grown g set text = 'new' from jsonb_array_elements_text($1::jsonb) as given (id)
      where g.id = given.id::integer`
    const explain = async (name: string) => {
      const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`explain execute ${name} (null)`)
      return rows.map((row) => row['QUERY PLAN']).join('\n')
    }
    for (let times = 0; times < 9; times += 1) await pool.query(text, ['[1]'])
    expect(await explain('plan_0_64')).toMatch(/Join Filter/)
    await pool.query('insert into grown select n from generate_series(2, 200000) n')
    for (let times = 0; times < 64; times += 1) await pool.query(text, ['[1]'])
    const plan = await explain('plan_0_512')
    expect(plan).toMatch(/Index Cond: \(id = /)
    expect(plan).not.toMatch(/Seq Scan|Hash Join|Merge Join|Join Filter/)
    expect(await kept()).toEqual([text])
  })
})

test('another connection plans each statement anew', async () => {
  const { pool, kept } = await open(false)
  for (const number of [1, 2, 3]) await pool.query('select $1::int + 1', [number])
  expect(await kept()).toEqual([])
})
