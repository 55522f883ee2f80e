// @module-tag slow
// Several lists of one night, each with a share of the credits, from the schedule file to the last credit above the
// floor.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { rebuild } from '../../src/core/runs/rebuild.ts'
import { loadSchedules } from '../../src/core/scheduler/schedule.ts'
import { tick } from '../../src/core/scheduler/tick.ts'
import { verifyPromises } from '../support/promises.ts'
import type { TestMill } from '../support/mill.ts'
import { backends } from '../support/redis.ts'
import { openScene } from '../support/scene.ts'

const floor = 50
const spendable = 300
const night = '2026-01-05'
/** A slice in progress and one prefetched. */
const atWork = 50

interface GivenList {
  readonly name: string
  readonly share: string
  readonly queries: number
}

/** This many credits are above the floor. */
const short = {
  api: { credits: floor + spendable },
  settings: { MILL_CREDIT_FLOOR: String(floor), MILL_CONCURRENCY: '4' },
}

/**
 * Writes lists and their schedules, and plans the first night of all of them; if `queued` is false, every job is lost.
 */
async function planNight(mill: TestMill, lists: readonly GivenList[], queued: boolean) {
  const folder = mkdtempSync(join(tmpdir(), 'querymill-parts-'))
  const lines = lists.map(({ name, share, queries }) => {
    const file = join(folder, `${name}.csv`)
    const rows = Array.from({ length: queries }, (_, index) => `${name} ${index}`)
    writeFileSync(file, `query\n${rows.join('\n')}\n`)
    return `${name},${file},0 2 * * *,yes,${share}`
  })
  const file = join(folder, 'schedules.csv')
  writeFileSync(file, `schedule,list,cron,on,share\n${lines.join('\n')}\n`)
  for (const time of ['01:00', '02:00']) {
    const desk = {
      db: mill.db,
      supplier: mill.supplier,
      maxAgeMs: 0,
      queue: async () => (queued ? mill.queue() : { add: async () => undefined }),
      report: () => undefined,
      now: async () => new Date(`${night}T${time}:20Z`),
    }
    await tick(desk, await loadSchedules(mill.db, { file, zone: 'UTC' }))
  }
}

async function answeredOf(mill: TestMill): Promise<Record<string, number>> {
  const { rows } = await sql<{ name: string; answered: number }>`
    select lists.name, count(*) filter (where tasks.state = 'answered') as answered
    from tasks
    join runs on runs.id = run_id
    join lists on lists.id = list_id
    group by lists.name`.execute(mill.db)
  return Object.fromEntries(rows.map(({ name, answered }) => [name, answered]))
}

describe.each(backends)('a night whose credits run out, with its queue on $name', (backend) => {
  test.each([
    ['as it was queued', true],
    ['made again from the tables', false],
  ])('has spent on each list its share of the credits: %s', async (_, queued) => {
    const { api, mill } = await openScene({ backend, ...short })
    // The list with the largest share comes last; in the order of the file, it would get nothing.
    const lists = [
      { name: 'rest', share: '', queries: 300 },
      { name: 'shop', share: '20%', queries: 300 },
      { name: 'news', share: '60%', queries: 300 },
    ]
    await planNight(mill, lists, queued)
    if (!queued) await rebuild(mill)
    expect((await mill.drain()).finish).toBe('credit_floor')
    const answered = await answeredOf(mill)
    for (const [name, part] of Object.entries({ rest: 0.2, shop: 0.2, news: 0.6 })) {
      expect(answered[name]).toBeGreaterThanOrEqual(part * spendable - atWork)
      expect(answered[name]).toBeLessThanOrEqual(part * spendable + atWork)
    }
    expect(api.least()).toBe(floor)
    expect((await verifyPromises(mill.db)).filter(({ ok }) => !ok)).toEqual([])
  })

  test('gives what a list does not use to the others', async () => {
    const { api, mill } = await openScene({ backend, ...short })
    const lists = [
      { name: 'rest', share: '', queries: 300 },
      { name: 'news', share: '60%', queries: 25 },
    ]
    await planNight(mill, lists, true)
    await mill.drain()
    expect(await answeredOf(mill)).toEqual({ rest: spendable - 25, news: 25 })
    expect(api.least()).toBe(floor)
  })
})
