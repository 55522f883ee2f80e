// SIGKILL while a worker buys: a crash costs only the calls in flight, with any number of lanes.
import type { ChildProcess } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { clockBefore } from '../../../src/base/database/clock.ts'
import { logFolder, readAbandonedLogs } from '../../../src/core/worker/write-ahead-log.ts'
import { verifyPromises } from '../../support/promises.ts'
import { backends, type TestBackend } from '../../support/redis.ts'
import { openScene, queries, type Scene } from '../../support/scene.ts'
import { dies, startMortal } from '../../whole/dying.ts'

async function openKillScene(delayMs: number, backend?: TestBackend): Promise<Scene> {
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
function receivedBy({ config }: Scene['mill']): number {
  const file = join(config.home, 'received')
  return existsSync(file) ? statSync(file).size : 0
}

function startWorker(mill: Scene['mill'], lanes: number): ChildProcess {
  const env = { ...mill.env, MILL_CONCURRENCY: String(lanes) }
  const worker = startMortal({ ...mill, env }, 'never')
  onTestFinished(() => void worker.kill('SIGKILL'))
  return worker
}

/** Ends the lease of the dead worker, so that no test has to wait for it. */
async function endLeases({ db }: Scene['mill']): Promise<void> {
  await db
    .updateTable('workers')
    .set({ lease_until: clockBefore(1_000) })
    .where('stopped_at', 'is', null)
    .execute()
}

/** Kills a worker with this many lanes once it has received `after` replies; returns the number of calls in flight. */
async function killOne({ api, mill }: Scene, lanes: number, after: number): Promise<number> {
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

test('a killed worker of 17 lanes loses no received answer, and no more is bought twice than was in flight', async () => {
  const scene = await openKillScene(30)
  await scene.mill.plan(queries(150))
  const inFlight = await killOne(scene, 17, 40)
  expect(inFlight).toBeLessThanOrEqual(17)
  await expectNothingLost(scene, 180, inFlight)
})

test.each(backends)(
  'twenty kills of workers with 8, 17, 64 and 200 lanes lose no received answer, and no more is bought twice than was in flight, with the queue on $name',
  { tags: ['slow'] },
  async (backend) => {
    const scene = await openKillScene(100, backend)
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

/** Calls whose replies are in the logs of a MILL_HOME folder. */
function loggedIn(folder: string, { config, installation }: Scene['mill']): number[] {
  const logs = readAbandonedLogs(folder, { installation, leaseMs: config.leaseMs })
  return logs.flatMap(({ replies }) => replies.map(({ call }) => call.id))
}

/** True once all replies in the logs have been flushed to disk. An empty log begins with an empty line. */
function isFlushed(mill: Scene['mill']): boolean {
  const [folder, flushed] = [logFolder(mill), join(mill.config.home, 'flushed')]
  return readdirSync(folder).every((name) => {
    const written = readFileSync(join(folder, name))
    return written[0] === 10 || written.equals(readFileSync(join(flushed, name)))
  })
}

/** Truncates each log to what had been flushed; returns the calls whose replies are lost. */
function dropUnflushed(mill: Scene['mill']): number[] {
  const [folder, flushed] = [logFolder(mill), join(mill.config.home, 'flushed')]
  const written = loggedIn(folder, mill)
  for (const name of readdirSync(folder)) copyFileSync(join(flushed, name), join(folder, name))
  const kept = new Set(loggedIn(folder, mill))
  return written.filter((call) => !kept.has(call))
}

/** Ends the server processes of a dead worker, as happens when its machine loses power. */
async function endStatementsOf({ db }: Scene['mill'], name: string): Promise<void> {
  await expect
    .poll(async () => {
      const { rows } = await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = ${name}`.execute(db)
      return rows.length
    })
    .toBe(0)
}

describe('a power failure', { tags: ['slow'] }, () => {
  test('loses what was received in the last milliseconds, and no more is bought twice than that and the calls in flight', async () => {
    const scene = await openKillScene(100)
    await scene.mill.plan(queries(800))
    let [inFlight, unflushed] = [0, 0]
    for (const lanes of [8, 17, 64, 200]) {
      inFlight += await killOne(scene, lanes, 2 * lanes)
      unflushed += dropUnflushed(scene.mill).length
    }
    expect(unflushed).toBeGreaterThan(0)
    await expectNothingLost(scene, 830, inFlight + unflushed)
  })

  test('loses nothing that was received and flushed, even while the database accepts no answer', async () => {
    const scene = await openKillScene(30)
    const { api, mill } = scene
    await mill.plan(queries(100))
    const worker = startWorker(mill, 17)
    await expect.poll(() => receivedBy(mill)).toBeGreaterThanOrEqual(20)
    const client = await mill.pool.connect()
    onTestFinished(() => client.release(true))
    await client.query('begin; select from accounts for update')
    await expect.poll(() => receivedBy(mill)).toBe(api.charges().length - 30)
    const flushed = receivedBy(mill)
    await expect.poll(() => isFlushed(mill)).toBe(true)
    worker.kill('SIGKILL')
    await dies(worker)
    await endStatementsOf(mill, 'querymill mortal')
    await client.query('rollback')
    dropUnflushed(mill)
    expect(loggedIn(logFolder(mill), mill).length).toBeGreaterThan(0)
    await expect.poll(() => api.charges().every(({ ended_at }) => ended_at !== null)).toBe(true)
    const later = api.charges().length - 30 - flushed
    await endLeases(mill)
    await expectNothingLost(scene, 130, later)
  })
})
