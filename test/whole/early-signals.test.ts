// @module-tag slow
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { verifyPromises } from '../support/promises.ts'
import type { TestMill } from '../support/mill.ts'
import { backends } from '../support/redis.ts'
import { start, type Result, type Running } from '../support/run.ts'
import { openScene, queries } from '../support/scene.ts'

// A busy machine starts slowly. Moments of the start are counted from its beginning, those of the first calls from the
// registration of the worker or from a later call.
const whileStarting = [600, 900, 1_200, 1_500, 1_800]
const onceThere = [0, 30, 100, 300, 900, 2_000]
const onceBuying = [0, 100]
const together = 3

async function isThere(mill: TestMill, { pid }: Running): Promise<void> {
  const entries = async () =>
    (await sql`select from workers where pid = ${pid}`.execute(mill.db)).rows.length
  await expect.poll(entries, { interval: 10 }).toBe(1)
}

interface Moment {
  readonly name: string
  readonly ms: number
  readonly comes: (worker: Running) => Promise<unknown>
}

describe.each(backends)('a worker with its queue on $name', (backend) => {
  test('that is told to end at any moment of its start or first calls ends normally, without partial work', async () => {
    const { api, mill } = await openScene({
      backend,
      api: { credits: 1_000_000 },
      settings: { MILL_CONCURRENCY: '4' },
    })
    await mill.plan(queries(20_000))
    const moments: Moment[] = [
      ...whileStarting.map((ms) => ({ name: 'after the start', ms, comes: () => wait(0) })),
      ...onceThere.map((ms) => ({
        name: 'after its entry',
        ms,
        comes: (worker: Running) => isThere(mill, worker),
      })),
      ...onceBuying.map((ms) => ({
        name: 'after a call',
        ms,
        comes: async (worker: Running) => {
          await isThere(mill, worker)
          const before = api.charges().length
          await expect.poll(() => api.charges().length).toBeGreaterThan(before)
        },
      })),
    ]
    const signal = async ({ comes, ms }: Moment): Promise<Result> => {
      const worker = start('work', ms % 200 === 0 ? ['--drain'] : [], mill.env)
      await comes(worker)
      await wait(ms)
      worker.kill('SIGTERM')
      return worker.ended
    }
    for (let begun = 0; begun < moments.length; begun += together) {
      const some = moments.slice(begun, begun + together)
      const ends = await Promise.all(some.map(signal))
      for (const [index, { code, signal: by, stderr }] of ends.entries()) {
        const { name, ms } = some[index] ?? { name: '', ms: 0 }
        // Before it listens for signals, nothing is open, and the system ends it.
        const end = by === 'SIGTERM' && name === 'after the start' && stderr === '' ? 0 : code
        expect(end, `${ms} ms ${name}: ${code} ${by} ${stderr}`).toBe(0)
        expect(stderr).not.toMatch(/^ {4}at /m)
      }
    }
    // Every call was awaited, so none is unread and none was bought twice.
    const asked = api.charges().map(({ q }) => q)
    expect(asked.length).toBeGreaterThan(0)
    expect(new Set(asked).size).toBe(asked.length)
    expect((await verifyPromises(mill.db)).filter(({ ok }) => !ok)).toEqual([])
    const { rows } = await sql`select from workers where stopped_at is null`.execute(mill.db)
    expect(rows).toEqual([])
  })
})
