// @module-tag slow
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { verifyPromises } from '../../support/promises.ts'
import { mayMount, smallDisk } from '../../support/disk.ts'
import { allow, refuse } from '../../support/refusal.ts'
import { start } from '../../support/run.ts'
import { openScene, queries, type SceneOptions } from '../../support/scene.ts'

const diskFull = '53100'
const mounts = mayMount()

/** A program with known prices whose worker stores its log on a separate small disk. */
async function openOn(megabytes: number, lanes: number, api: SceneOptions['api'] = {}) {
  // A lost call is given up as soon as the lease of its worker expires.
  const settings = { MILL_TIMEOUT_MS: '3000', MILL_LEASE_MS: '6000' }
  const scene = await openScene({ api, settings })
  await scene.mill.plan(['known'])
  await scene.mill.drain()
  const disk = smallDisk(megabytes)
  const env = { ...scene.mill.env, MILL_HOME: disk.folder, MILL_CONCURRENCY: String(lanes) }
  return { ...scene, disk, work: (...flags: string[]) => start('work', flags, env) }
}

test.runIf(mounts)(
  'answers fit on a disk that was filled after the start, and the next start settles them without buying again',
  async () => {
    const { api, mill, disk, work } = await openOn(13, 16)
    await mill.plan(queries(16))
    await refuse(mill, 'raw_answers', { code: diskFull })
    const worker = work()
    await expect.poll(() => api.charges().length).toBe(17)
    disk.fill()
    worker.kill('SIGTERM')
    const { code, stderr } = await worker.ended
    expect(stderr).toContain(
      '16 paid answers could not be written to the database; the next worker',
    )
    expect(code).toBe(0)
    await allow(mill, 'raw_answers')
    const settled = await work('--drain').ended
    expect(settled.code, settled.stderr).toBe(0)
    expect(settled.stderr).toContain('16 answers that a worker had received before it ended')
    expect(await mill.states()).toEqual({ answered: 17 })
    expect(api.charges()).toHaveLength(17)
    expect(readdirSync(join(disk.folder, 'spool'))).toEqual([])
    expect((await verifyPromises(mill.db)).filter(({ ok }) => !ok)).toEqual([])
  },
)

test.runIf(mounts)(
  'of answers larger than their space, those that fit are kept, and a worker reports the cost of the others and exits with 5',
  async () => {
    const { api, mill, disk, work } = await openOn(3, 2, {
      faults: [{ kind: 'oversize', match: 'large', times: 1, bytes: 1_000_000 }],
    })
    await refuse(mill, 'raw_answers', { code: diskFull })
    const worker = work()
    // It registers itself after it has allocated its space.
    await expect
      .poll(async () => mill.db.selectFrom('workers').select('id').execute())
      .toHaveLength(2)
    disk.fill()
    await mill.plan(['large', 'small'])
    await expect
      .poll(() => api.charges().filter(({ ended_at }) => ended_at !== null).length)
      .toBe(3)
    worker.kill('SIGTERM')
    const { code, stderr } = await worker.ended
    expect(stderr).toContain('1 paid answer could not be written to the database; the next worker')
    expect(stderr).toContain('1 paid answer lost (0 credits, 1 without a price)')
    expect(stderr).not.toContain('    at ')
    expect(code).toBe(5)
    await allow(mill, 'raw_answers')
    expect((await work('--drain').ended).code).toBe(0)
    const asked = api.charges().map(({ q }) => q)
    expect(asked.toSorted()).toEqual(['known', 'large', 'large', 'small'])
  },
)

test.runIf(mounts)(
  'a disk without space for the answers of all lanes makes a worker exit with 5 before it buys one',
  async () => {
    const { api, mill, disk, work } = await openOn(1, 16)
    await mill.plan(queries(2))
    const { code, stderr } = await work('--drain').ended
    expect(stderr).toContain('expected 10.5 MB of free space in')
    expect(stderr).toContain(
      'ENOSPC: nothing is bought; free some space, or lower MILL_CONCURRENCY',
    )
    expect(code).toBe(5)
    expect(api.charges()).toHaveLength(1)
    expect(readdirSync(join(disk.folder, 'spool'))).toEqual([])
    expect(await mill.states()).toEqual({ answered: 1, open: 2 })
  },
)
