// @module-tag slow
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prove } from '../../src/features/verify/command.ts'
import { startFaulty } from '../faults/api/standin.ts'
import { finishDays } from '../../src/core/nights/finish.ts'
import { readTables } from '../support/archive.ts'
import { testMill, type TestMill } from '../support/mill.ts'
import { run, start } from '../support/run.ts'
import { queries } from '../support/scene.ts'
import { temporaryFolder } from '../support/place.ts'

let api: Awaited<ReturnType<typeof startFaulty>>
let mill: TestMill
const folder = join(temporaryFolder('whole'), 'archive')
const older = ['--older', '400d', '--to', folder, '--yes']

beforeAll(async () => {
  api = await startFaulty({ seed: 'archive', credits: 10_000, kind: 'live', cost: 2 })
  mill = await testMill({ api, settings: { MILL_CREDIT_FLOOR: '100' } })
  for (let night = 1; night <= 3; night++) {
    const made = await mill.plan(queries(12))
    await mill.drain()
    await sql`update runs set run_date = make_date(2024, 1, ${night}) where id = ${made}`.execute(
      mill.db,
    )
  }
  await finishDays(mill.db)
})
afterAll(async () => {
  await mill.close()
  await api.close()
})

const proved = async () => {
  const { checks } = await prove(mill.db, { zone: 'UTC', deep: true })
  return checks.filter(({ ok }) => !ok).map(({ name }) => name)
}
const rowsOf = (stdout: string) => (JSON.parse(stdout) as { rows: unknown[] }).rows
const question =
  'select run_date, q, position, domain, title from analysis.results order by 1, 2, 3'

test('an archive command killed between two days is completed by the next; all checks pass, nothing is bought again, questions and DuckDB read the same, and days are restored unchanged', async () => {
  const before = await readTables(mill.pool)
  const asked = rowsOf((await run('sql', [question, '--json'], mill.env)).stdout)
  expect(asked.length).toBeGreaterThan(100)

  const killed = start('archive', older, mill.env)
  await killed.line('archived')
  killed.kill('SIGKILL')
  await killed.ended
  expect(await proved()).toEqual([])
  const ended = await run('archive', [...older, '--json'], mill.env)
  expect(ended.code).toBe(0)
  expect(await proved()).toEqual([])
  const { rows: left } = await sql`select from organic_results`.execute(mill.db)
  expect(left).toEqual([])

  const calls = before['calls']?.length
  await mill.plan(queries(12), { maxAgeMs: 86_400_000 })
  expect(await mill.drain()).toMatchObject({ reused: 12, calls: 0 })
  expect((await readTables(mill.pool))['calls']).toHaveLength(calls ?? -1)
  expect(await proved()).toEqual([])

  const both = await run('sql', ['--with-archive', question, '--json'], mill.env)
  expect(both.stderr).toContain('days from the archive')
  const old = rowsOf(both.stdout).filter((row) => String(Object(row).run_date) < '2025')
  expect(old).toEqual(asked)
  expect(await inDuckDb()).toEqual(asked)

  expect(await run('archive', ['--check'], mill.env)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('all unchanged') as string,
  })
  expect((await run('archive', ['--back', '2024-01-01..2024-12-31', '--yes'], mill.env)).code).toBe(
    0,
  )
  expect(readdirSync(join(folder, 'days'))).toEqual([])
  const after = await readTables(mill.pool)
  for (const name of [
    'organic_results',
    'raw_answers',
    'searches',
    'search_entities',
    'archived_days',
  ]) {
    expect(after[name]).toEqual(before[name])
  }
  expect(await proved()).toEqual([])
})

/** The same question, answered by DuckDB from the files alone. */
async function inDuckDb() {
  const instance = await DuckDBInstance.create()
  const connection = await instance.connect()
  const from = (table: string) =>
    `read_parquet('${folder}/${table}/*/*.parquet', hive_partitioning = true)`
  const reader = await connection.runAndReadAll(`
    select results.run_date::varchar as run_date, queries.q, results.position::integer as position, domains.domain, results.title
    from ${from('organic_results')} as results
    join ${from('searches')} as searches on searches.id = results.search_id and searches.run_date = results.run_date
    join ${from('queries')} as queries on queries.id = searches.query_id and queries.run_date = results.run_date
    left join ${from('pages')} as pages on pages.id = results.page_id and pages.run_date = results.run_date
    left join ${from('domains')} as domains
      on domains.id = coalesce(results.domain_id, pages.domain_id) and domains.run_date = results.run_date
    order by 1, 2, 3`)
  const rows = reader.getRowObjectsJson()
  connection.closeSync()
  instance.closeSync()
  return rows
}
