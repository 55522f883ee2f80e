// Kills a worker process with SIGKILL while it buys, and checks what that cost.
import type { ChildProcess } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { clockBefore } from '../../../src/base/database/clock.ts'
import { verifyPromises } from '../../support/promises.ts'
import type { TestBackend } from '../../support/redis.ts'
import { openScene, queries, type Scene } from '../../support/scene.ts'
import { dies, startMortal } from '../../whole/dying.ts'

export async function openKillScene(delayMs: number, backend?: TestBackend): Promise<Scene> {
  const scene = await openScene({
    ...(backend === undefined ? {} : { backend }),
    settings: { MILL_CREDIT_FLOOR: '0' },
    api: { delayMs, credits: 100_000 },
  })
  // Balance and price must be known before dozens of calls go out.
  await scene.mill.plan(queries(30).map((q) => `known ${q}`))
  await scene.mill.drain()
  return scene
}

/** Replies received by these workers, according to their own count. */
export function receivedBy({ config }: Scene['mill']): number {
  const file = join(config.home, 'received')
  return existsSync(file) ? statSync(file).size : 0
}

export function startWorker(mill: Scene['mill'], lanes: number): ChildProcess {
  const env = { ...mill.env, MILL_CONCURRENCY: String(lanes) }
  const worker = startMortal({ ...mill, env }, 'never')
  onTestFinished(() => void worker.kill('SIGKILL'))
  return worker
}

/** Ends the lease of the dead worker, so that no test has to wait for it. */
export async function endLeases({ db }: Scene['mill']): Promise<void> {
  await db
    .updateTable('workers')
    .set({ lease_until: clockBefore(1_000) })
    .where('stopped_at', 'is', null)
    .execute()
}

/** Kills a worker with this many lanes once it has received `after` replies; returns the number of calls in flight. */
export async function killOne({ api, mill }: Scene, lanes: number, after: number): Promise<number> {
  const [charged, received] = [api.charges().length, receivedBy(mill)]
  const worker = startWorker(mill, lanes)
  await expect
    .poll(() => receivedBy(mill), { interval: 5 })
    .toBeGreaterThanOrEqual(received + after)
  worker.kill('SIGKILL')
  await dies(worker)
  // A request that was sent before the kill may be charged afterwards.
  await expect.poll(() => api.charges().every(({ ended_at }) => ended_at !== null)).toBe(true)
  await endLeases(mill)
  return api.charges().length - charged - (receivedBy(mill) - received)
}

/** Drains the remaining tasks and proves that no received answer was lost or bought again. */
export async function expectNothingLost({ api, mill }: Scene, tasks: number, inFlight: number) {
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

/** Kills twenty workers one after the other; returns the number of calls in flight at those moments. */
export async function killTwenty(scene: Scene): Promise<number> {
  let inFlight = 0
  for (let round = 0; round < 5; round += 1) {
    for (const lanes of [8, 17, 64, 200]) {
      const now = await killOne(scene, lanes, lanes + 7 * round)
      expect(now).toBeLessThanOrEqual(lanes)
      inFlight += now
    }
  }
  return inFlight
}
