// @module-tag slow
// The machine of a worker loses power while it buys: only what was flushed to disk is left.
import { copyFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { logFolder, readAbandonedLogs } from '../../../src/core/worker/write-ahead-log.ts'
import { queries, type Scene } from '../../support/scene.ts'
import { dies } from '../../whole/dying.ts'
import {
  endLeases,
  expectNothingLost,
  killOne,
  openKillScene,
  receivedBy,
  startWorker,
} from './killing.ts'

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

describe('a power failure', () => {
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
