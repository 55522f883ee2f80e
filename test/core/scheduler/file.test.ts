import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadSchedules } from '../../../src/core/scheduler/schedule.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'

let database: FreshDatabase
let folder: string

beforeAll(async () => {
  database = await freshDatabase()
  folder = mkdtempSync(join(tmpdir(), 'querymill-schedules-'))
  mkdirSync(join(folder, 'other'))
  for (const list of ['a.csv', 'b.csv', 'other/a.csv']) {
    writeFileSync(join(folder, list), 'query\nred shoes\n')
  }
})

afterAll(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})

function load(...lines: string[]) {
  const file = join(folder, 'schedules.csv')
  const header = 'schedule,list,cron,zone,max_age,budget,priority,missed,overlap,on'
  writeFileSync(file, [header, ...lines].join('\n'))
  return loadSchedules(database.db, { file, zone: 'UTC' })
}

const line = (name: string, list: string, cron = '0 2 * * *') =>
  `${name},${join(folder, list)},${cron},UTC,,,,,,yes`

describe('the file of schedules', () => {
  test('with a comma that splits a line: that line is rejected with its number, the others continue', async () => {
    const plan = await load(
      line('one', 'a.csv'),
      line('two', 'b.csv', '0 1,13 * * *'),
      line('three', 'b.csv'),
    )
    expect(plan.schedules.map(({ name }) => name)).toEqual(['one', 'three'])
    expect(plan.refusals.map(({ line: number }) => number)).toEqual([3])
    expect(plan.names).toEqual(['one', 'two', 'three'])
  })

  test('with a quote that is never closed: that line is rejected, the others continue', async () => {
    const plan = await load(line('one', 'a.csv'), '"two,x', line('three', 'b.csv'))
    expect(plan.schedules.map(({ name }) => name)).toEqual(['one', 'three'])
    expect(plan.refusals).toMatchObject([{ line: 3 }])
  })

  test('with quotes around a cell with a comma: the whole cell is read', async () => {
    const plan = await load(line('one', 'a.csv', '"0 1,13 * * *"'))
    expect(plan.schedules[0]?.cron.pattern).toBe('0 1,13 * * *')
  })

  test('with two files that would be one list: the second is rejected', async () => {
    const plan = await load(
      line('one', 'a.csv'),
      line('two', 'other/a.csv'),
      line('three', 'a.csv'),
    )
    expect(plan.schedules.map(({ name }) => name)).toEqual(['one', 'three'])
    expect(plan.refusals[0]?.problem).toContain('both named "a"')
  })

  test('with a missing list: its line is rejected and names the path that was searched', async () => {
    const plan = await load(line('one', 'a.csv'), line('two', 'nowhere.csv'))
    expect(plan.schedules.map(({ name }) => name)).toEqual(['one'])
    expect(plan.refusals).toMatchObject([{ line: 3 }])
    expect(plan.refusals[0]?.problem).toContain('nowhere.csv')
  })

  test('reads a list as a user last accepted it', async () => {
    await database.pool.query(
      `insert into lists (name, source, reading)
       values ('b', $1, '{"column": "Phrase", "width": 3}')`,
      [join(folder, 'b.csv')],
    )
    const { schedules } = await load(line('one', 'a.csv'), line('two', 'b.csv'))
    expect(schedules.map(({ name, reading }) => [name, reading])).toEqual([
      ['one', {}],
      ['two', { column: 'Phrase', width: 3 }],
    ])
  })

  test('with a list whose name belongs to another existing file is refused', async () => {
    await database.pool.query(`insert into lists (name, source) values ('a', $1)`, [
      join(folder, 'other', 'a.csv'),
    ])
    const { schedules, refusals } = await load(line('one', 'a.csv'))
    expect(schedules).toEqual([])
    expect(refusals[0]?.problem).toContain(
      `is already used for the list read from ${join(folder, 'other', 'a.csv')}`,
    )
  })
})
