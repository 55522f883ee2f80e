import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { Mill } from '../../../src/core/mill.ts'
import type { QueuedSlice } from '../../../src/core/queue/slice-jobs.ts'
import { endSliceRound } from '../../../src/core/worker/worker.ts'
import { openLedger } from './ledger.ts'

/** A database with one slice, and a queue that only records what was added. */
async function openSlice() {
  const { mill } = await openLedger()
  const queued: QueuedSlice[] = []
  const queue = async () => ({
    ...(await mill.queue()),
    add: async (slices: readonly QueuedSlice[]) => void queued.push(...slices),
  })
  const { rows } = await sql<{ run: number; slice: number; round: number }>`
    select run_id as run, slice, round from slices`.execute(mill.db)
  const job = rows[0] ?? { run: 0, slice: 0, round: 0 }
  const watched: Mill = { ...mill, queue }
  return { mill: watched, job, queued }
}

describe('the end of the round of a slice', () => {
  test('returns it to the queue for its next round while a task is open', async () => {
    const { mill, job, queued } = await openSlice()
    await sql`update slices set turn = 12.5`.execute(mill.db)
    await endSliceRound(mill, job, { busy: false, ending: () => false })
    expect(queued).toEqual([{ ...job, round: job.round + 1, priority: 5, turn: 12.5, delayMs: 0 }])
  })

  test('leaves time for calls that another worker has in flight', async () => {
    const { mill, job, queued } = await openSlice()
    await endSliceRound(mill, job, { busy: true, ending: () => false })
    expect(queued).toMatchObject([{ delayMs: 2_000 }])
  })

  test('ends the slice if no task is open', async () => {
    const { mill, job, queued } = await openSlice()
    await sql`update tasks set state = 'cancelled', finished_at = now()`.execute(mill.db)
    await endSliceRound(mill, job, { busy: false, ending: () => false })
    expect(queued).toEqual([])
  })

  test('waits for an unreachable database, unless the worker is shutting down', async () => {
    const { mill, job, queued } = await openSlice()
    let away = 2
    const stumbling = new Proxy(mill, {
      get: (target, name, receiver) => {
        if (name !== 'db' || away === 0) return Reflect.get(target, name, receiver) as unknown
        away -= 1
        throw new Error('the connection broke')
      },
    })
    await expect(
      endSliceRound(stumbling, job, { busy: false, ending: () => true }),
    ).rejects.toThrow('the connection broke')
    await endSliceRound(stumbling, job, { busy: false, ending: () => false })
    expect(queued).toHaveLength(1)
    expect(away).toBe(0)
  })
})
