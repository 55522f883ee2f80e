// @module-tag slow
import { sql } from 'kysely'
import { describe, expect, test, vi } from 'vitest'
import { startFaulty } from '../faults/api/standin.ts'
import { testMill, type TestMill } from '../support/mill.ts'
import { dies, startMortal } from './dying.ts'
import { patienceMs } from '../support/patience.ts'

type Faulty = Awaited<ReturnType<typeof startFaulty>>

const settings = { MILL_LEASE_MS: '4000', MILL_TIMEOUT_MS: '2500', MILL_CONCURRENCY: '1' }
const patiently = { timeout: patienceMs, interval: 20 }

interface Case {
  readonly api: Faulty
  readonly mill: TestMill
}

/** One query to buy, with its own API. */
async function withOne(
  knobs: Partial<Parameters<typeof startFaulty>[0]>,
  run: (one: Case) => Promise<void>,
) {
  const api = await startFaulty({ seed: 'points', credits: 1_000, kind: 'live', cost: 2, ...knobs })
  const mill = await testMill({ api, settings })
  try {
    await mill.plan(['what is left'])
    await run({ api, mill })
  } finally {
    await mill.close()
    await api.close()
  }
}

/** The result after another worker has continued, and the total cost. */
async function aftermath({ api, mill }: Case) {
  await mill.drain()
  const { rows } = await sql<{
    state: string
    ambiguous: number
    searches: number
    results: number
    expected: number
    open: number
    uncertain: number
    reserved: number
  }>`
    select
      t.state,
      t.ambiguous,
      (select count(*)::integer from searches) as searches,
      (select count(*)::integer from organic_results) as results,
      (select sum(result_count)::integer from searches) as expected,
      (select count(*)::integer from calls where outcome is null) as open,
      a.uncertain::integer,
      a.reserved::integer
    from tasks t, accounts a`.execute(mill.db)
  const [row] = rows
  if (row === undefined) throw new Error('expected a task, got none')
  const charges = api.charges().filter(({ charged }) => charged > 0).length
  const { results, expected, ...rest } = row
  expect(results).toBe(expected)
  return { ...rest, charges }
}

const answered = { state: 'answered', searches: 1, open: 0, reserved: 0 }

describe.concurrent('a worker that is killed', () => {
  test('before it reserves has spent and lost nothing', () =>
    withOne({}, async (one) => {
      await dies(startMortal(one.mill, 'before_reserve'))
      expect(one.api.charges()).toHaveLength(0)
      expect(await aftermath(one)).toEqual({ ...answered, ambiguous: 0, charges: 1, uncertain: 0 })
    }))

  test('between reservation and request leaves one call unknown, and one charge', () =>
    withOne({}, async (one) => {
      await dies(startMortal(one.mill, 'reserved'))
      expect(one.api.charges()).toHaveLength(0)
      expect(await aftermath(one)).toEqual({ ...answered, ambiguous: 1, charges: 1, uncertain: 10 })
    }))

  test('while a charged reply is in transit leaves one call unknown, and two charges at most', () =>
    withOne({ faults: [{ kind: 'hang', only: [1] }] }, async (one) => {
      const child = startMortal(one.mill, 'never')
      await vi.waitFor(() => expect(one.api.charges()[0]?.charged).toBe(2), patiently)
      child.kill('SIGKILL')
      await dies(child)
      expect(await aftermath(one)).toEqual({ ...answered, ambiguous: 1, charges: 2, uncertain: 10 })
    }))

  test('with the complete reply received keeps it: the next worker settles it, and nothing is bought again', () =>
    withOne({}, async (one) => {
      await dies(startMortal(one.mill, 'replied'))
      expect(one.api.charges()).toHaveLength(1)
      expect(await aftermath(one)).toEqual({ ...answered, ambiguous: 0, charges: 1, uncertain: 0 })
    }))

  test('while it writes the rows of an answer leaves none of them, and buys it once more', () =>
    withOne({}, async (one) => {
      const { mill, api } = one
      const child = startMortal(mill, 'never')
      const client = await mill.pool.connect()
      try {
        await client.query('begin')
        await client.query('lock table organic_results in exclusive mode')
        await vi.waitFor(async () => {
          const { rows } = await client.query(
            "select count(*)::integer as waiting from pg_locks where not granted and relation = 'organic_results'::regclass",
          )
          expect(rows[0]).toEqual({ waiting: 1 })
        }, patiently)
        child.kill('SIGKILL')
        await dies(child)
      } finally {
        await client.query('rollback')
        client.release()
      }
      expect(api.charges()).toHaveLength(1)
      const found = await aftermath(one)
      // The server may have committed the statement of the dead worker before it noticed the death.
      const kept = found.charges === 1
      const expected = kept ? { ambiguous: 0, uncertain: 0 } : { ambiguous: 1, uncertain: 10 }
      expect(found).toEqual({ ...answered, charges: kept ? 1 : 2, ...expected })
    }))

  test('after the commit, before the queue is informed, buys nothing again', () =>
    withOne({}, async (one) => {
      await dies(startMortal(one.mill, 'stored'))
      expect(await aftermath(one)).toEqual({ ...answered, ambiguous: 0, charges: 1, uncertain: 0 })
    }))
})
