// @module-tag slow
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { rebuild } from '../../src/core/runs/rebuild.ts'
import { pruneBodies } from '../../src/features/forget/prune.ts'
import { chooseRuns, reopenTasks } from '../../src/core/runs/retry.ts'
import { verifyPromises } from '../support/promises.ts'
import type { TestMill } from '../support/mill.ts'
import { backends } from '../support/redis.ts'
import { openScene, queries } from '../support/scene.ts'

const rounds = 4
const youngMs = 150

/** Answers without a body that are newer than the last prune limit. */
async function countRobbed({ db }: TestMill): Promise<number> {
  const { rows } = await sql<{ robbed: number }>`
    select count(*) as robbed
    from searches s
    where s.fetched_at >= (select max(received_before) from prunings)
      and not exists (select from raw_answers r where r.call_id = s.call_id)`.execute(db)
  return rows[0]?.robbed ?? 0
}

describe.each(backends)('bodies that are pruned, with the queue on $name,', (backend) => {
  test('while their queries are bought again leave no recent answer without its body, and all checks pass', async () => {
    const { api, mill } = await openScene({ backend, settings: { MILL_CONCURRENCY: '16' } })
    const run = await mill.plan(queries(300))
    await mill.drain()
    const over = new AbortController()
    const prune = async () => {
      let pruned = 0
      let [times, robbed] = [0, 0]
      const pass = async () => {
        pruned += await pruneBodies(mill.db, youngMs)
        times += 1
        robbed += await countRobbed(mill)
      }
      while (!over.signal.aborted) await pass()
      // A pass that began late may have missed the last round but one, which is old enough by now.
      await pass()
      return { pruned, times, robbed }
    }
    const meant = {
      run,
      list: null,
      tag: null,
      since: null,
      states: ['failed', 'unknown', 'answered', 'reused'],
      error: null,
      buyAgain: true,
    }
    const buyAgain = async () => {
      for (let round = 0; round < rounds; round += 1) {
        const { runs } = await chooseRuns(mill.db, meant)
        expect(await reopenTasks(mill.db, meant, runs)).toBe(300)
        await rebuild(mill, run)
        expect(await mill.drain()).toMatchObject({ finish: 'completed', answered: 300 })
      }
    }
    const pruning = prune()
    await buyAgain().finally(() => over.abort())
    const { pruned, times, robbed } = await pruning
    expect(robbed).toBe(0)
    expect(times).toBeGreaterThan(rounds)
    expect(pruned).toBeGreaterThanOrEqual(300 * rounds)
    expect(api.charges()).toHaveLength(300 * (rounds + 1))
    expect((await verifyPromises(mill.db)).filter(({ ok }) => !ok)).toEqual([])
    const { rows } = await sql<{ bodies: number; answers: number }>`
      select (select count(*) from raw_answers) as bodies, (select count(*) from searches) as answers`.execute(
      mill.db,
    )
    expect(rows[0]?.answers).toBe(300 * (rounds + 1))
    expect((rows[0]?.bodies ?? 0) + pruned).toBe(rows[0]?.answers)
  })
})
