import { expect, onTestFinished, test } from 'vitest'
import { start } from '../support/run.ts'
import { openScene, queries } from '../support/scene.ts'

test('a worker at the floor goes on by itself after a top-up, having looked with one call at a time', async () => {
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
  await expect.poll(() => api.least(), { timeout: 60_000 }).toBeLessThan(100)
  api.renew(1000)
  await expect.poll(() => mill.states(), { timeout: 60_000 }).toEqual({ answered: 60 })
  // What was spent below the floor went out alone, so many seconds apart.
  const below = api.charges().filter(({ balance }) => balance < 100)
  const pauses = below.slice(1).map(({ at }, index) => at - (below[index]?.at ?? at))
  expect(Math.min(Infinity, ...pauses)).toBeGreaterThanOrEqual(1_900)
})
