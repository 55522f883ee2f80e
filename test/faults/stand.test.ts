import { expect, test } from 'vitest'
import { openScene, queries } from '../support/scene.ts'
import { witnessStand } from './chaos.ts'

test('the state of a fleet is shown in sums: its accounts, open tasks, slices and jobs', async () => {
  const { mill } = await openScene()
  await mill.plan(queries(50))
  expect(await witnessStand(mill.db)).toMatchObject({
    ...{ accounts: null, stops: null, leases: null, calls: null },
    tasks: [{ count: 50, run_state: 'open', waiting: 0 }],
    slices: [{ slice: 0 }, { slice: 1 }],
    jobs: [{ queue: 'slices', state: 'waiting' }, {}],
  })
  await mill.drain()
  expect(await witnessStand(mill.db)).toMatchObject({
    accounts: [{ in_flight: 0 }],
    ...{ stops: null, tasks: null, slices: null },
  })
})
