// @module-tag slow
import { join } from 'node:path'
import type { PoolClient } from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openPool, type Pool } from '../../../src/base/database/database.ts'
import { finishDays } from '../../../src/core/nights/finish.ts'
import { installationId } from '../../../src/core/queue/open-slices.ts'
import { findQuestion, readQuestions } from '../../../src/features/analysis/library.ts'
import { answerQuestion } from '../../../src/features/analysis/sql-command.ts'
import { loadArchive } from '../../../src/features/archive/load.ts'
import { makePast, moveAll, returnAll } from '../../support/archive.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { temporaryFolder } from '../../support/place.ts'
import { Story } from './story.ts'

let database: FreshDatabase
const folder = join(temporaryFolder('asked'), 'archive')
beforeAll(async () => {
  database = await freshDatabase()
  await database.pool.query("insert into own_domains (domain, label) values ('r5.com', 'Us')")
  await makePast(database, 'asked', 8)
  await finishDays(database.db)
  await database.pool.query(`
    create function told_of(answer bigint, place integer) returns text language plpgsql stable as $$
    begin return (select title from organic_results where search_id = answer and ordinal = place); end $$`)
})
afterAll(() => database.close())

const needed: Readonly<Record<string, string>> = {
  ...{ q: 'shoes', word: 'sho', rival: 'r7.com', page: 'r5.com' },
}

/** Values that differ from one execution to the next, whatever the tables contain. */
const ofNow = /age|ago/

type Ask = (typed: string, flags?: readonly string[]) => Promise<unknown[][]>

/** Queries the tables or, with `archive`, the tables and the needed part of the archive. */
async function askOf(
  { pool, archive = false }: { readonly pool: Pool; readonly archive?: boolean },
  typed: string,
  flags: readonly string[] = [],
) {
  const question = findQuestion(typed, [...flags])
  const before = archive ? readingFor(question.text) : undefined
  const reading = { ...question, timeoutMs: 20_000, warn: () => undefined, before }
  let text = ''
  const how = { format: 'json', most: 3, say: () => undefined, empty: () => undefined } as const
  for await (const piece of answerQuestion(pool, reading, how)) text += piece
  const { columns, rows } = JSON.parse(text) as { columns: string[]; rows: object[] }
  const kept = columns.filter((name) => !ofNow.test(name))
  return rows.map((row) => kept.map((name) => Reflect.get(row, name) as unknown))
}

/** Loads the archive on the connection of a query. */
function readingFor(text: string) {
  const { db } = database
  return async (client: PoolClient) => {
    const installation = await installationId(db)
    const tell = () => undefined
    await loadArchive(client, { db, installation, text, report: tell })
  }
}

/** Queries that read columns in ways that are easily overlooked. */
const ofColumns = [
  'select * from organic_results order by search_id, ordinal',
  'select to_jsonb(r) as told from organic_results as r order by search_id, ordinal',
  'select (whole).title from (select r as whole from organic_results as r) as rows order by 1',
  "select count(*) from organic_results where title like '%\"%' or snippet ~ 'x.*'",
  'select count(*) from organic_results where extra is not null',
  'select search_id from organic_results order by snippet collate "C", search_id, ordinal',
  'select told_of(search_id, ordinal) as told from organic_results order by search_id, ordinal',
  'select distinct kind, text from search_features natural join searches order by 1, 2',
  "select count(*), md5(string_agg(body, '' order by call_id)) as bodies from raw_answers",
]

async function askAll(ask: Ask) {
  const answers: Record<string, unknown[]> = {}
  for (const { name, parameters } of readQuestions()) {
    const flags = parameters
      .filter(({ fallback }) => fallback === undefined)
      .map((parameter) => `--${parameter.name}=${needed[parameter.name]}`)
    if (parameters.some((parameter) => parameter.name === 'days')) flags.push('--days=4')
    answers[name] = await ask(name, flags)
  }
  const slices = ['shares', 'volatility'].filter((name) => name in answers)
  for (const name of slices) answers[`${name} sliced`] = await ask(name, ['--list=main'])
  answers['coverage'] = await ask('select * from analysis.coverage order by 1, 2')
  answers['movers'] = await ask('select * from analysis.movers order by 1, 3, 4')
  for (const text of ofColumns) answers[text] = await ask(text)
  return answers
}

const moves =
  'select query_id, domain, run_date, previous_run_date, change from analysis.movers order by 1, 2, 3, 4'
const days = 'select run_date from analysis.observations group by run_date order by run_date'
const coverage =
  'select run_date, planned, answered, archived, other_origin from analysis.coverage order by run_date'
const since = '2025-01-05'

test('every question of the library gives the same result with the archive as before it, and after days are restored; without it, archived days are excluded and nothing counts as lost or new', async () => {
  const { pool } = database
  const ask: Ask = (typed, flags) => askOf({ pool }, typed, flags)
  const before = await askAll(ask)
  const told = Object.values(before).filter((rows) => rows.length > 0)
  expect(told.length).toBeGreaterThan(20)
  const [moved, seen, covered] = [await ask(moves), await ask(days), await ask(coverage)]
  await moveAll(database, { folder, before: since })

  const still = moved.filter((row) => String(row[3]) >= since)
  expect(still.length).toBeGreaterThan(0)
  expect(await ask(moves)).toEqual(expect.arrayContaining(still))
  expect(await ask(moves)).toHaveLength(still.length)
  expect(await ask(days)).toEqual(seen.filter(([day]) => String(day) >= since))
  const away = covered.map(([day, planned, answered, , hidden]) => {
    const gone = String(day) < since
    return [day, planned, gone ? 0 : answered, gone ? answered : 0, hidden]
  })
  expect(await ask(coverage)).toEqual(away)

  const both = openPool(database.url, { name: 'with archive', max: 2, reading: true })
  expect(
    await askAll((typed, flags) => askOf({ pool: both, archive: true }, typed, flags)),
  ).toEqual(before)
  await both.end()
  await returnAll(database)
  expect(await ask(moves)).toEqual(moved)
  expect(await ask(coverage)).toEqual(covered)
})

test('a stay in the top 10 counts only if it began after the oldest answer outside the archive', async () => {
  const other = await freshDatabase()
  onTestFinished(() => other.close())
  const story = new Story(other.pool)
  const nights = ['a b', 'a c', 'a c', 'a c d', 'a d', 'a e']
  for (const [nth, shown] of nights.entries()) {
    const results = shown.split(' ').map((name) => `${name}.com/`)
    await story.night(`2026-03-0${nth + 1}`, { shoes: results })
  }
  await other.pool.query("update runs set state = 'done'")
  await finishDays(other.db)
  const lengths = () =>
    askOf({ pool: other.pool }, 'select lasts, answers from analysis.stay_lengths order by 1, 2')
  // c stayed for three answers and d for two; e still lasts.
  expect(await lengths()).toEqual([
    [false, 2],
    [false, 3],
    [true, 1],
  ])
  await moveAll(other, { folder: join(temporaryFolder('stays'), 'archive'), before: '2026-03-03' })
  expect(await lengths()).toEqual([
    [false, 2],
    [true, 1],
  ])
})
