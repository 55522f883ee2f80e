import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { verifyPromises } from '../../src/store/operator/verify.ts'
import { start } from '../support/run.ts'
import { openScene, queries } from '../support/scene.ts'
import { openWire } from '../support/wire.ts'

test('a drain whose database falls silent gives up with 5, and the answers it had are settled unbought later', async () => {
  const { api, mill } = await openScene({ api: { delayMs: 300 } })
  const wire = await openWire(mill.databaseUrl)
  onTestFinished(wire.close)
  await mill.plan(queries(60))
  const settings = { ...mill.env, DATABASE_URL: wire.url, MILL_CONCURRENCY: '4' }
  const work = start('work', ['--drain', '--json'], settings)
  await expect.poll(() => api.charges().length, { timeout: 20_000 }).toBeGreaterThan(12)
  wire.hush()
  const { code, stderr } = await work.ended
  expect(code).toBe(5)
  expect(stderr).toContain('the database is silent: it is taken for out of reach')
  expect(readdirSync(join(mill.config.home, 'spool'))).toHaveLength(1)
  // What no answer was heard of may have been reserved, and is free again when its lease ran out.
  expect(await mill.drain()).toMatchObject({ finish: 'completed' })
  expect(await mill.states()).toEqual({ answered: 60 })
  expect(api.charges()).toHaveLength(60)
  const checks = await verifyPromises(mill.db)
  expect(checks.filter(({ ok }) => !ok)).toEqual([])
}, 180_000)
