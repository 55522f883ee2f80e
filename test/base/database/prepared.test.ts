// @module-tag slow
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDatabase, openPool } from '../../../src/base/database/database.ts'
import { CompiledQuery } from '../../../src/base/database/kysely.ts'
import { freshUrl } from '../../support/database.ts'

async function open(byKey: boolean) {
  const db = openDatabase(openPool(await freshUrl(), { name: 'test', max: 1 }), { byKey })
  onTestFinished(() => db.destroy())
  const ask = <Row = unknown>(text: string, values: readonly unknown[] = []) =>
    db.executeQuery<Row>(CompiledQuery.raw(text, [...values]))
  const kept = async () => {
    const { rows } = await ask<{ statement: string }>(
      'select statement from pg_prepared_statements order by prepare_time',
    )
    return rows.map(({ statement }) => statement)
  }
  return { ask, kept }
}

describe('a connection whose statements look up by key', () => {
  test('keeps the plan of a repeated statement, not of one that is sent once', async () => {
    const { ask, kept } = await open(true)
    await ask('select $1::int as once', [1])
    for (const number of [1, 2, 3]) {
      const { rows } = await ask('select $1::int + 1 as next', [number])
      expect(rows).toEqual([{ next: number + 1 }])
    }
    expect(await kept()).toEqual(['select $1::int + 1 as next'])
  })

  test('keeps a bounded number of plans', async () => {
    const { ask, kept } = await open(true)
    for (let number = 0; number < 60; number += 1) {
      await ask(`select $1::int + ${number}`, [1])
      await ask(`select $1::int + ${number}`, [1])
    }
    expect(await kept()).toHaveLength(50)
  })

  test('makes no plan for one set of values', async () => {
    const { ask } = await open(true)
    for (const id of [1, 2, 3, 4]) await ask('select id from tasks where id = $1', [id])
    const { rows } = await ask(
      `select generic_plans::int, custom_plans::int from pg_prepared_statements where statement like '%from tasks%'`,
    )
    expect(rows).toEqual([{ generic_plans: 3, custom_plans: 0 }])
  })

  test('continues after a statement that failed while it was planned', async () => {
    const { ask } = await open(true)
    const later = () => ask('select id from later where id = $1', [1])
    await expect(later()).rejects.toMatchObject({ code: '42P01' })
    await expect(later()).rejects.toMatchObject({ code: '42P01' })
    await ask('create table later (id integer)')
    expect((await later()).rows).toEqual([])
    await ask('alter table later add column other integer')
    expect((await later()).rows).toEqual([])
  })

  test('plans again after some uses, because a small table may have grown', async () => {
    const { ask, kept } = await open(true)
    await ask('create table grown (id integer primary key, text text)')
    await ask('insert into grown values (1)')
    await ask('analyze grown')
    const text = `
      update grown g set text = 'new' from jsonb_array_elements_text($1::jsonb) as given (id)
      where g.id = given.id::integer`
    const explain = async (name: string) => {
      const { rows } = await ask<{ 'QUERY PLAN': string }>(`explain execute ${name} (null)`)
      return rows.map((row) => row['QUERY PLAN']).join('\n')
    }
    for (let times = 0; times < 9; times += 1) await ask(text, ['[1]'])
    expect(await explain('plan_0_64')).toMatch(/Join Filter/)
    await ask('insert into grown select n from generate_series(2, 200000) n')
    for (let times = 0; times < 64; times += 1) await ask(text, ['[1]'])
    const plan = await explain('plan_0_512')
    expect(plan).toMatch(/Index Cond: \(id = /)
    expect(plan).not.toMatch(/Seq Scan|Hash Join|Merge Join|Join Filter/)
    expect(await kept()).toEqual([text])
  })
})

test('plans each statement again on another connection', async () => {
  const { ask, kept } = await open(false)
  for (const number of [1, 2, 3]) await ask('select $1::int + 1', [number])
  expect(await kept()).toEqual([])
})
