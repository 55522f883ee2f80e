// @module-tag slow
import { expect, onTestFinished, test } from 'vitest'
import { startFaulty } from '../faults/api/standin.ts'
import {
  expectSameDays,
  expectSameRuns,
  expectSameShare,
  expectSameSums,
  tellFigures,
} from '../support/figures.ts'
import { testMill } from '../support/mill.ts'

const lists = {
  shop: ['boots', 'socks', 'hats', 'gloves', 'scarves', 'belts'],
  brand: ['boots', 'socks', 'wool', 'silk'],
} as const

test('each figure is the same wherever it is shown, with lost replies, charged refusals and answers to other queries', async () => {
  const api = await startFaulty({ seed: 'figures', credits: 10_000, kind: 'live', cost: 1 })
  onTestFinished(() => api.close())
  const mill = await testMill({ api })
  onTestFinished(() => mill.close())
  const day = async (date: string) => {
    for (const [list, asked] of Object.entries(lists)) {
      const reuses = list === 'brand' && date === '2026-01-01'
      const id = await mill.plan(asked, { list, maxAgeMs: reuses ? 3_600_000 : 0 })
      await mill.pool.query('update runs set run_date = $2 where id = $1', [id, date])
      await mill.drain()
    }
  }
  await day('2026-01-01')
  await day('2026-01-02')
  api.set({
    faults: [
      { kind: 'drop', match: 'hats' },
      // Lost once; the third request is answered.
      { kind: 'drop', match: 'wool', times: 3 },
      { kind: 'status', status: 422, charged: true, billed: true, match: 'gloves' },
      { kind: 'status', status: 400, match: 'belts' },
      { kind: 'echo', match: 'silk' },
    ],
  })
  await day('2026-01-03')
  await mill.pool.query("set querymill.origins = 'live'")
  const span = { since: '2026-01-01', until: '2026-01-03' }
  const told = await tellFigures(mill, { lists: Object.keys(lists), ...span })
  expect(told.truth.map(({ used, uncertain, planned }) => [used, uncertain, planned])).toEqual([
    [6, 0, 6],
    [2, 0, 4],
    [6, 0, 6],
    [4, 0, 4],
    [4, 30, 6],
    [4, 10, 4],
  ])
  await expectSameRuns(told, mill)
  await expectSameDays(told)
  await expectSameSums(
    told,
    api.charges().reduce((sum, { charged }) => sum + charged, 0),
  )
  await expectSameShare(told)
})
