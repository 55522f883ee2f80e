// @module-tag slow
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { clockBefore } from '../../src/base/database/clock.ts'
import { makeKey } from '../../src/service/keys.ts'
import { Secret } from '../../src/base/secret.ts'
import { run, start } from '../support/run.ts'
import { openScene, queries } from '../support/scene.ts'

test('a worker at the floor resumes automatically after a top-up, after one probe at a time', async () => {
  const { api, mill } = await openScene({
    api: { credits: 110 },
    settings: { MILL_CREDIT_FLOOR: '100', MILL_PROBE_EVERY: '2s', MILL_CONCURRENCY: '4' },
  })
  await mill.plan(queries(60))
  const worker = start('work', [], mill.env)
  onTestFinished(async () => {
    worker.kill('SIGTERM')
    await worker.ended
  })
  await expect.poll(() => api.least()).toBeLessThan(100)
  api.renew(1000)
  await expect.poll(() => mill.states()).toEqual({ answered: 60 })
  // Calls below the floor went out alone, with this many seconds between them.
  const below = api.charges().filter(({ balance }) => balance < 100)
  const pauses = below.slice(1).map(({ at }, index) => at - (below[index]?.at ?? at))
  expect(Math.min(Infinity, ...pauses)).toBeGreaterThanOrEqual(1_900)
})

/** A worker whose key is in a file, and the content of the file. */
async function startWithFile(key: string) {
  const { api, mill } = await openScene()
  const file = join(mkdtempSync(join(tmpdir(), 'querymill-key-')), 'key')
  writeFileSync(file, `${key}\n`)
  await mill.plan(queries(20))
  const { SEARCH_API_KEY: right = '', ...env } = mill.env
  const worker = start('work', [], { ...env, SEARCH_API_KEY_FILE: file })
  onTestFinished(async () => {
    worker.kill('SIGTERM')
    await worker.ended
  })
  const stopped = async () => {
    const { rows } =
      await sql`select from stops where reason = 'auth' and cleared_at is null`.execute(mill.db)
    return rows.length
  }
  await expect.poll(stopped).toBe(1)
  const put = (text: string) => writeFileSync(file, `${text}\n`)
  return { api, mill, worker, right, stopped, put }
}

test('a worker whose key was refused resumes automatically when its file contains another, and the old one stays refused', async () => {
  const old = makeKey('live')
  const { api, mill, worker, right, stopped, put } = await startWithFile(old)
  const refused = api.charges().length
  put(right)
  await expect.poll(() => mill.states()).toEqual({ answered: 20 })
  expect(await stopped()).toBe(0)
  expect(api.charges().length - refused).toBe(20)
  const { rows } = await sql<{ blocked_keys: string[] }>`select blocked_keys from accounts`.execute(
    mill.db,
  )
  expect(rows).toEqual([{ blocked_keys: [new Secret(old).fingerprint()] }])
  expect(worker.stderr()).toContain('contains a new key, which is used from now on')
  expect(worker.stderr()).not.toContain(old)
  expect(worker.stderr()).not.toContain(right)
})

test('a key of the other kind in the file is not used, because its balance is a different one', async () => {
  const { api, mill, worker, put } = await startWithFile(makeKey('live'))
  const refused = api.charges().length
  put(makeKey('test'))
  await worker.line('contains a test key, but this worker buys with a live key')
  expect(await mill.states()).toEqual({ open: 20 })
  expect(api.charges()).toHaveLength(refused)
})

test('each of nine refused keys, one after the other, ends its drain with exit code 4 after the calls that were in flight', async () => {
  const { api, mill } = await openScene({ settings: { MILL_CONCURRENCY: '4' } })
  await mill.plan(queries(40))
  await mill.drain()
  await mill.plan(queries(60))
  // The last one sorts last in every order, so a truncated list of fingerprints would lose it.
  const keys = Array.from({ length: 9 }, () => new Secret(makeKey('live'))).toSorted((a, b) =>
    a.fingerprint() < b.fingerprint() ? -1 : 1,
  )
  for (const [index, key] of keys.entries()) {
    const before = api.charges().length
    // The pause between two calls that check the balance of a new key grows up to half a minute.
    await mill.db
      .updateTable('accounts')
      .set({ last_probe_at: clockBefore(60_000) })
      .execute()
    const env = { ...mill.env, SEARCH_API_KEY: key.reveal() }
    const { code, stderr } = await run('work', ['--drain'], env)
    expect(api.charges().length - before, `requests with key ${index + 1}`).toBeLessThanOrEqual(8)
    expect(code, stderr).toBe(4)
  }
  // The key that was refused first is not tried again either.
  const before = api.charges().length
  const first = keys[0]?.reveal()
  expect(await run('work', ['--drain'], { ...mill.env, SEARCH_API_KEY: first })).toMatchObject({
    code: 4,
  })
  expect(api.charges()).toHaveLength(before)
})
