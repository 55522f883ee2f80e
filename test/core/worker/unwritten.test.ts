// @module-tag slow
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { verifyPromises } from '../../support/promises.ts'
import type { TestMill } from '../../support/mill.ts'
import { allow, refuse } from '../../support/refusal.ts'
import { type Result, start } from '../../support/run.ts'
import { openScene, queries, type Scene } from '../../support/scene.ts'
import { openLog } from '../../../src/core/worker/write-ahead-log.ts'
import { openLedger } from './ledger.ts'
import { answer, refusal } from './pieces.ts'

function spooled(mill: TestMill): string[] {
  return readdirSync(join(mill.config.home, 'spool')).map((name) =>
    join(mill.config.home, 'spool', name),
  )
}

/** Four answers that the database refused with this code, in their file. */
async function keepFour(
  code: string,
  leave: 'when told' | 'by itself' = 'when told',
): Promise<Scene & { file: string; ended: Result }> {
  const scene = await openScene()
  const { api, mill } = scene
  // Until a first answer has reported price and balance, calls go out one by one.
  await mill.plan(['known'])
  await mill.drain()
  await mill.plan(queries(4).map((q) => `kept ${q}`))
  await refuse(mill, 'raw_answers', { code })
  // A separate process: its open resources end with it, as outside of tests.
  const work = start('work', leave === 'by itself' ? ['--drain'] : [], mill.env)
  await expect.poll(() => api.charges()).toHaveLength(5)
  if (leave === 'when told') work.kill('SIGTERM')
  const ended = await work.ended
  await allow(mill, 'raw_answers')
  const files = spooled(mill)
  expect(files).toHaveLength(1)
  return { ...scene, file: files[0] ?? '', ended }
}

function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8').trimEnd().split('\n')
}

async function broken({ db }: TestMill): Promise<string[]> {
  const checks = await verifyPromises(db)
  return checks.filter(({ ok }) => !ok).map(({ name }) => name)
}

test('a drain with a read-only database gives up with 5, and the next start settles the answers of this database', async () => {
  const { api, mill, file, ended: left } = await keepFour('25006', 'by itself')
  expect(left.code).toBe(5)
  expect(linesOf(file).filter((line) => line.includes('"call":'))).toHaveLength(4)
  const strange = openLog(mill, 2)
  await strange.append({ id: 999_999, mark: null }, answer({ pad: 'whole' }))
  await strange.append({ id: 999_998, mark: null }, answer({ pad: 'torn' }))
  const { files } = await strange.close()
  const [other = ''] = files
  writeFileSync(other, readFileSync(other, 'latin1').replace('"pad":"torn"', '"pad":"rent"'))
  const said: string[] = []
  expect((await mill.drain({ report: (line) => said.push(line) })).finish).toBe('completed')
  expect(await mill.states()).toEqual({ answered: 5 })
  expect(api.charges()).toHaveLength(5)
  expect(said.join('\n')).toContain('settled 4 answers that a worker had received before it ended')
  expect(said.join('\n')).toContain("2 answers in a worker's log cannot be settled")
  expect(spooled(mill)).toEqual([`${other}.left`])
  expect(await broken(mill)).toEqual([])
})

test('a key that was refused before a crash does not stop a new key', async () => {
  const { mill, hire, reserveCall } = await openLedger()
  const call = await reserveCall(await hire())
  const log = openLog(mill, 1)
  await log.append(call, refusal(401, 'UNAUTHORIZED'))
  await log.close()
  expect((await mill.drain()).finish).toBe('completed')
  const { rows: stops } = await sql`select reason from stops`.execute(mill.db)
  expect(stops).toEqual([])
  expect(await mill.states()).toEqual({ answered: 2 })
})

test('a worker whose call is missing in the database stops, and keeps the paid answer', async () => {
  const { api, mill } = await openScene({ api: { delayMs: 3_000 } })
  await mill.plan(queries(1))
  const ended = mill.drain().catch((error: unknown) => String(error))
  await expect.poll(() => mill.db.selectFrom('calls').select('id').execute()).toHaveLength(1)
  await mill.db.deleteFrom('calls').execute()
  expect(await ended).toContain('1 call is missing; its paid answer is kept in')
  expect(api.charges()).toHaveLength(1)
})

test('an unexpected error of the database ends the worker, is named, and costs no answer', async () => {
  const { api, mill, ended } = await keepFour('XX000')
  expect(ended.code).toBe(70)
  expect(ended.stderr).toContain('refused')
  expect(ended.stderr).toContain('4 paid answers could not be written to the database')
  expect((await mill.drain()).finish).toBe('completed')
  expect(await mill.states()).toEqual({ answered: 5 })
  expect(api.charges()).toHaveLength(5)
  expect(spooled(mill)).toEqual([])
})

test('a kept answer that cannot be stored does not fail the others, and its body is stored', async () => {
  const { api, mill } = await keepFour('25006')
  await refuse(mill, 'searches', {
    code: '22023',
    when: `exists (select from queries where id = new.query_id and q = 'kept query 2')`,
  })
  await mill.drain()
  expect(await mill.states()).toEqual({ answered: 4, failed: 1 })
  expect(api.charges()).toHaveLength(5)
  const { rows } = await sql`select count(*) as n from raw_answers`.execute(mill.db)
  expect(rows).toEqual([{ n: 5 }])
})

test('a worker that could not store an answer in a file buys none, and says what to correct', async () => {
  const { api, mill } = await openScene()
  await mill.plan(queries(2))
  const home = join(mill.config.home, 'file')
  writeFileSync(home, 'no folder')
  const { code, stderr } = await start('work', ['--drain'], { ...mill.env, MILL_HOME: home }).ended
  expect(code).toBe(2)
  expect(stderr).toContain('expected MILL_HOME to be a folder where paid answers can be stored')
  expect(stderr).toContain('ENOTDIR')
  expect(api.charges()).toEqual([])
})

test('a worker whose answers neither the database nor a file accepts exits with 5, and reports their number and cost', async () => {
  const { api, mill } = await openScene()
  await mill.plan(['known'])
  await mill.drain()
  await mill.plan(queries(4).map((q) => `lost ${q}`))
  await refuse(mill, 'raw_answers', { code: '25006' })
  const work = start('work', [], mill.env)
  await expect.poll(() => api.charges()).toHaveLength(5)
  const folder = join(mill.config.home, 'spool')
  rmSync(folder, { recursive: true })
  writeFileSync(folder, 'no folder any more')
  work.kill('SIGTERM')
  const { code, stderr } = await work.ended
  expect(stderr).toContain('4 paid answers lost (4 credits), which may be bought again')
  expect(stderr).not.toContain('    at ')
  expect(code).toBe(5)
})
