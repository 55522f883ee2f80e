import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadArchive } from '../../src/commands/mill/archive/load.ts'
import { answerQuestion } from '../../src/commands/sql/ask.ts'
import { findQuestion, readQuestions } from '../../src/store/analysis/library.ts'
import { finishDays } from '../../src/store/analysis/finish.ts'
import { archivedTables } from '../../src/store/archive/tables.ts'
import { openPool, type Pool } from '../../src/store/database.ts'
import { installationId } from '../../src/store/slices.ts'
import { makePast, moveAll, placesOf, returnAll } from '../support/archive.ts'
import { freshDatabase, type FreshDatabase } from '../support/database.ts'
import { temporaryFolder } from '../support/place.ts'

let database: FreshDatabase
const folder = join(temporaryFolder('asked'), 'archive')
beforeAll(async () => {
  database = await freshDatabase()
  await database.pool.query("insert into own_domains (domain, label) values ('r5.com', 'Us')")
  await makePast(database, 'asked', 8)
  await finishDays(database.db)
})
afterAll(() => database.close())

const needed: Readonly<Record<string, string>> = { q: 'shoes', word: 'sho', rival: 'r7.com' }

/** What differs from one asking to the next, whatever the tables hold. */
const ofNow = /age|ago/

async function ask(pool: Pool, typed: string, flags: readonly string[] = []) {
  const question = findQuestion(typed, [...flags])
  const reading = { ...question, timeoutMs: 20_000, warn: () => undefined }
  let text = ''
  const how = { format: 'json', most: 3, say: () => undefined, empty: () => undefined } as const
  for await (const piece of answerQuestion(pool, reading, how)) text += piece
  const { columns, rows } = JSON.parse(text) as { columns: string[]; rows: object[] }
  const kept = columns.filter((name) => !ofNow.test(name))
  return rows.map((row) => kept.map((name) => Reflect.get(row, name) as unknown))
}

/** A pool of one connection, which has read the archive: each question is asked on it. */
async function openWithArchive(): Promise<Pool> {
  const { db, url } = database
  const pool = openPool(url, { name: 'with archive', max: 1, reading: true })
  const text = archivedTables.map(({ name }) => name).join(' ')
  const client = await pool.connect()
  const tell = () => undefined
  const installation = await installationId(db)
  await loadArchive(client, { db, installation, text, places: placesOf(), tell })
  client.release()
  return pool
}

async function askAll(pool: Pool) {
  const answers: Record<string, unknown[]> = {}
  for (const { name, parameters } of readQuestions()) {
    const flags = parameters
      .filter(({ fallback }) => fallback === undefined)
      .map((parameter) => `--${parameter.name}=${needed[parameter.name]}`)
    if (parameters.some((parameter) => parameter.name === 'days')) flags.push('--days=4')
    answers[name] = await ask(pool, name, flags)
  }
  const slices = ['share_of_voice', 'volatility'].filter((name) => name in answers)
  for (const name of slices) answers[`${name} sliced`] = await ask(pool, name, ['--list=main'])
  answers['coverage'] = await ask(pool, 'select * from analysis.coverage order by 1, 2')
  answers['movers'] = await ask(pool, 'select * from analysis.movers order by 1, 3, 4')
  return answers
}

const moves =
  'select query_id, domain, run_date, previous_run_date, change from analysis.movers order by 1, 2, 3, 4'
const days = 'select run_date from analysis.observations group by run_date order by run_date'
const coverage =
  'select run_date, planned, answered, archived, hidden from analysis.coverage order by run_date'
const since = '2025-01-05'

test('every question of the library gives with the archive what it gave before it, and once days are back; without it, days that left are left out and nothing is lost or new for that', async () => {
  const { pool } = database
  const before = await askAll(pool)
  const told = Object.values(before).filter((rows) => rows.length > 0)
  expect(told.length).toBeGreaterThan(20)
  const [moved, seen, covered] = [
    await ask(pool, moves),
    await ask(pool, days),
    await ask(pool, coverage),
  ]
  await moveAll(database, { folder, before: since })

  const still = moved.filter((row) => String(row[3]) >= since)
  expect(still.length).toBeGreaterThan(0)
  expect(await ask(pool, moves)).toEqual(expect.arrayContaining(still))
  expect(await ask(pool, moves)).toHaveLength(still.length)
  expect(await ask(pool, days)).toEqual(seen.filter(([day]) => String(day) >= since))
  const away = covered.map(([day, planned, answered, , hidden]) => {
    const gone = String(day) < since
    return [day, planned, gone ? 0 : answered, gone ? answered : 0, hidden]
  })
  expect(await ask(pool, coverage)).toEqual(away)

  const both = await openWithArchive()
  expect(await askAll(both)).toEqual(before)
  await both.end()
  await returnAll(database)
  expect(await ask(pool, moves)).toEqual(moved)
  expect(await ask(pool, coverage)).toEqual(covered)
}, 60_000)
