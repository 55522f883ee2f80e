// @module-tag slow
// An expansion is interrupted between its steps, and the same command is run again; two at once take turns.
import { sql } from 'kysely'
import { describe, expect, test, vi } from 'vitest'
import { expand } from '../../../src/features/expand/expand.ts'
import type { TestMill } from '../../support/mill.ts'
import { patienceMs } from '../../support/patience.ts'
import { start } from '../../support/run.ts'
import { openScene } from '../../support/scene.ts'
import { broken, buyRounds, rowsOf, seed, silent, typed } from './seed.ts'

const seeds = Array.from({ length: 5 }, (_, index) => `seed${index} thing`)
const order = typed({ credits: 20 })
const flags = ['--list', 'seeds', '--credits', '20', '--yes', '--json']

/** Holds a lock that the command has to wait for, and kills the command while it waits. */
async function killAt({ db, env }: TestMill, lock: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended(${lock}::text, 0))`.execute(trx)
    const command = start('expand', flags, env)
    await vi.waitFor(
      async () => {
        const { rows } = await sql`select from pg_locks where locktype = 'advisory' and not granted
            and database = (select oid from pg_database where datname = current_database())`.execute(
          db,
        )
        expect(rows).toHaveLength(1)
      },
      { timeout: patienceMs, interval: 50 },
    )
    command.kill('SIGKILL')
    expect((await command.ended).signal).toBe('SIGKILL')
  })
}

/** The added queries, and how many of them are in a run. */
const taken = 'select count(*) as taken, count(run_id) as planned from expansions'

async function expectAllBought(scene: Awaited<ReturnType<typeof openScene>>): Promise<void> {
  await buyRounds(scene.mill, order)
  const asked = scene.api.charges().map(({ q }) => q)
  expect(asked).toHaveLength(5 + 20)
  expect(new Set(asked).size).toBe(25)
  expect(await rowsOf(scene.mill, taken)).toEqual([{ taken: 20, planned: 20 }])
  expect(await broken(scene.mill)).toEqual([])
}

describe('an expansion that was killed', () => {
  test('before the selection has changed nothing, and is completed by the same command', async () => {
    const scene = await openScene()
    await seed(scene.mill, 'seeds', seeds)
    await killAt(scene.mill, 'querymill expansions seeds-expanded')
    expect(await rowsOf(scene.mill, taken)).toEqual([{ taken: 0, planned: 0 }])
    await expectAllBought(scene)
  })

  test('between selection and planning is planned by the same command', async () => {
    const scene = await openScene()
    await seed(scene.mill, 'seeds', seeds)
    await killAt(scene.mill, 'querymill list seeds-expanded')
    expect(await rowsOf(scene.mill, taken)).toEqual([{ taken: 20, planned: 0 }])
    expect(await broken(scene.mill)).toEqual([])
    expect(await expand(scene.mill, order, silent)).toMatchObject({ kind: 'queued', again: 20 })
    await expectAllBought(scene)
  })

  test('between planning and queueing is queued by the same command', async () => {
    const scene = await openScene()
    const { mill } = scene
    await seed(mill, 'seeds', seeds)
    const cut = { ...mill, queue: () => Promise.reject(new Error('cut off here')) }
    await expect(expand(cut, order, silent)).rejects.toThrow('cut off here')
    const queue = vi.fn<typeof mill.queue>(() => mill.queue())
    expect(await expand({ ...mill, queue }, order, silent)).toMatchObject({ kind: 'waiting' })
    expect(queue).toHaveBeenCalled()
    expect((await (await mill.queue()).count()).jobs).toBeGreaterThan(0)
    await expectAllBought(scene)
  })
})

describe('two expansions at once', () => {
  test('of one list add and buy what one of them would have', async () => {
    const scene = await openScene()
    const { mill } = scene
    await seed(mill, 'seeds', seeds)
    const outcomes = await Promise.all([1, 2, 3].map(async () => expand(mill, order, silent)))
    expect(outcomes.filter(({ kind }) => kind === 'waiting').length).toBeGreaterThan(0)
    expect(new Set(outcomes.map(({ run }) => run)).size).toBe(1)
    await expectAllBought(scene)
  })

  test('as commands end normally, and buy it once', async () => {
    const scene = await openScene()
    await seed(scene.mill, 'seeds', seeds)
    const both = await Promise.all(
      [1, 2].map(async () => start('expand', flags, scene.mill.env).ended),
    )
    expect(both.map(({ code, stderr }) => [code, /^error/m.exec(stderr)])).toEqual([
      [0, null],
      [0, null],
    ])
    await expectAllBought(scene)
  })
})
