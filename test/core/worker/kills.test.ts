// SIGKILL in the middle of buying: a crash costs only the calls in flight, with any number of lanes.
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { clockBefore } from '../../../src/base/database/clock.ts'
import { verifyPromises } from '../../support/promises.ts'
import { openScene, queries, type Scene } from '../../support/scene.ts'
import { dies, startMortal } from '../../whole/dying.ts'

async function openKillScene(delayMs: number): Promise<Scene> {
  const scene = await openScene({
    settings: { MILL_CREDIT_FLOOR: '0' },
    api: { delayMs, credits: 100_000 },
  })
  // Balance and price have to be known before calls go out by the dozen.
  await scene.mill.plan(queries(30).map((q) => `known ${q}`))
  await scene.mill.drain()
  return scene
}

/** Replies that workers of this mill have received, by their own count. */
function receivedBy({ config }: Scene['mill']): number {
  const file = join(config.home, 'received')
  return existsSync(file) ? statSync(file).size : 0
}

/** Kills a worker of so many lanes once it has received `after` replies; gives back how many calls were in flight. */
async function killOne({ api, mill }: Scene, lanes: number, after: number): Promise<number> {
  const env = { ...mill.env, MILL_CONCURRENCY: String(lanes) }
  const [charged, received] = [api.charges().length, receivedBy(mill)]
  const worker = startMortal({ ...mill, env }, 'never')
  onTestFinished(() => void worker.kill('SIGKILL'))
  await expect
    .poll(() => receivedBy(mill), { interval: 1 })
    .toBeGreaterThanOrEqual(received + after)
  worker.kill('SIGKILL')
  await dies(worker)
  // What was sent before the kill may be charged after it.
  await expect.poll(() => api.charges().every(({ ended_at }) => ended_at !== null)).toBe(true)
  // Nobody has to wait for the lease of the dead worker.
  await mill.db
    .updateTable('workers')
    .set({ lease_until: clockBefore(1_000) })
    .where('stopped_at', 'is', null)
    .execute()
  return api.charges().length - charged - (receivedBy(mill) - received)
}

/** Drains what is left and proves that no received answer was lost or bought again. */
async function expectNothingLost({ api, mill }: Scene, tasks: number, inFlight: number) {
  expect(await mill.drain({ lanes: 64 })).toMatchObject({ finish: 'completed' })
  expect(await mill.states()).toEqual({ answered: tasks })
  const twice = api.charges().length - tasks
  expect(twice).toBeLessThanOrEqual(inFlight)
  const { settled } = await mill.db
    .selectFrom('calls')
    .select(({ fn }) => fn.countAll<number>().as('settled'))
    .where('outcome', '=', 'settled')
    .executeTakeFirstOrThrow()
  expect(api.charges().length - settled).toBeLessThanOrEqual(inFlight)
  expect((await verifyPromises(mill.db)).filter(({ ok }) => !ok)).toEqual([])
}

test('a killed worker of 17 lanes loses no answer that it received, and no more is bought twice than was in flight', async () => {
  const scene = await openKillScene(30)
  await scene.mill.plan(queries(150))
  const inFlight = await killOne(scene, 17, 40)
  expect(inFlight).toBeLessThanOrEqual(17)
  await expectNothingLost(scene, 180, inFlight)
})

test(
  'twenty kills of workers with 8, 17, 64 and 200 lanes lose no answer that was received, and no more is bought twice than was in flight',
  { tags: ['slow'] },
  async () => {
    const scene = await openKillScene(100)
    await scene.mill.plan(queries(4_000))
    let inFlight = 0
    for (let round = 0; round < 5; round += 1) {
      for (const lanes of [8, 17, 64, 200]) {
        const now = await killOne(scene, lanes, lanes + 7 * round)
        expect(now).toBeLessThanOrEqual(lanes)
        inFlight += now
      }
    }
    expect(inFlight).toBeGreaterThan(0)
    await expectNothingLost(scene, 4_030, inFlight)
  },
)
