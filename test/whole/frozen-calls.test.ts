import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { verifyPromises } from '../support/promises.ts'
import { start } from '../support/run.ts'
import { openScene, queries } from '../support/scene.ts'

/** Far longer than an answer takes on a busy machine, so that only answers of a frozen worker can be too late. */
const timeoutMs = 5_000
const lanes = 16
const freezes = 3

test('answers that arrive while a worker is frozen for longer than a call may take are read, and none is bought again', async () => {
  const { api, mill } = await openScene({
    // Long enough that calls are always in flight, and all are answered while the worker is frozen.
    api: { credits: 1_000_000, delayMs: { least: 200, most: 600 } },
    settings: {
      MILL_CONCURRENCY: String(lanes),
      MILL_TIMEOUT_MS: String(timeoutMs),
      MILL_LEASE_MS: '60000',
    },
  })
  await mill.plan(queries(2_000).map((q) => ({ q, num: 100 })))
  const worker = start('work', [], mill.env)
  onTestFinished(() => worker.kill('SIGKILL'))
  const unanswered = () => api.charges().filter(({ ended_at }) => ended_at === null).length
  const frozen = new Set<string>()
  // Positions of the charges that the API makes right after a freeze, at most one per lane. A request that the worker
  // had begun but not written yet goes out only then, when its time is over, so its outcome may be unknown.
  const resumed: number[] = []
  for (let turn = 0; turn < freezes; turn += 1) {
    const before = api.charges().length
    await expect
      .poll(() => api.charges().length >= before + 3 * lanes && unanswered() >= lanes / 2, {
        interval: 5,
      })
      .toBe(true)
    worker.kill('SIGSTOP')
    for (const { q, ended_at: ended } of api.charges()) if (ended === null) frozen.add(q)
    await wait(timeoutMs + 1_000)
    // The API sent all of them; they are in the socket buffers of a process that can't read.
    await expect.poll(() => unanswered(), { interval: 5 }).toBe(0)
    resumed.push(api.charges().length)
    worker.kill('SIGCONT')
  }
  expect(frozen.size).toBeGreaterThan(freezes)
  await expect.poll(() => unanswered(), { interval: 5 }).toBeGreaterThan(0)
  worker.kill('SIGTERM')
  expect((await worker.ended).code).toBe(0)
  const charged = api.charges().map(({ q }) => q)
  const late = new Set(resumed.flatMap((from) => charged.slice(from, from + lanes)))
  for (const q of frozen) late.delete(q)
  const asked = charged.filter((q) => !late.has(q))
  expect(asked.length).toBeGreaterThan(frozen.size)
  expect(asked.length - new Set(asked).size).toBe(0)
  const { rows } = await sql`
    select outcome, count(*) as calls
    from calls
    join queries on queries.id = calls.query_id
    where outcome <> 'unsent' and queries.q <> all(${[...late]}::text[])
    group by outcome`.execute(mill.db)
  expect(rows).toEqual([{ outcome: 'settled', calls: asked.length }])
  expect((await verifyPromises(mill.db)).filter(({ ok }) => !ok)).toEqual([])
})
