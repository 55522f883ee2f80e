import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Entry } from '../../../src/core/ledger/settle.ts'
import { Batch } from '../../../src/core/worker/batch.ts'
import { entryOf, unsentCall } from '../../../src/core/ledger/entry.ts'
import { answer, bought, recordedOf } from './pieces.ts'

/** How the database refuses a write: it is unreachable, another transaction is in conflict, or the data is invalid. */
const refusals = {
  away: () => new Error('the connection broke'),
  conflict: () => Object.assign(new Error('deadlock detected'), { code: '40P01' }),
  data: () => new TypeError('no such value'),
}

/** A call that was not sent: there is no lighter form of its entry. */
const small = (id: number): Entry => unsentCall({ id, mark: null })

/** A call with an answer: its lighter form has no rows. */
function heavy(call: number): Entry {
  return entryOf(bought(call, answer()), { origin: 'live', api: 'api.example' })
}

/** The stored part of an entry. */
function form({ call: { id }, answer: kept }: Entry): string {
  if (kept === null) return `small ${id}`
  return kept.search === null ? `light ${id}` : `heavy ${id}`
}

/** A database that refuses as the test says, and the batch writer that uses it. */
function openLedger(
  refuse: (forms: readonly string[], writes: number) => keyof typeof refusals | null,
) {
  const written: string[] = []
  const away: boolean[] = []
  const stuck: unknown[] = []
  let writes = 0
  const batch = new Batch({
    counted: false,
    write: async (entries) => {
      writes += 1
      const refusal = refuse(entries.map(form), writes)
      if (refusal !== null) throw refusals[refusal]()
      written.push(...entries.map(form))
      return recordedOf(entries)
    },
    onAway: (is) => away.push(is),
    onStuck: (error) => stuck.push(error),
  })
  return { batch, written, away, stuck }
}

describe('an entry that cannot be written', () => {
  test('does not fail the others', async () => {
    const { batch, written } = openLedger((forms) => (forms.includes('heavy 3') ? 'data' : null))
    const entries = [small(1), small(2), heavy(3), heavy(4)]
    await Promise.all(entries.map(async (entry) => batch.add(entry)))
    expect(written.toSorted()).toEqual(['heavy 4', 'light 3', 'small 1', 'small 2'])
    expect(batch.size).toBe(0)
  })

  test('in any form is reported, and is among those returned at the end', async () => {
    const { batch, stuck } = openLedger((forms) => (forms.includes('small 3') ? null : 'data'))
    void batch.add(small(1))
    void batch.add(heavy(2))
    await expect.poll(() => stuck).toHaveLength(2)
    await batch.add(small(3))
    expect(batch.abandon().map(form)).toEqual(['small 1', 'heavy 2'])
  })
})

test('with a long conflict is retried, and no entry is reduced or dropped', async () => {
  const noPause = vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => noPause.mockRestore())
  const { batch, written, away } = openLedger((_forms, writes) =>
    writes <= 22 ? 'conflict' : null,
  )
  await batch.add(heavy(1))
  expect(written).toEqual(['heavy 1'])
  expect(away).toEqual([true, true, false])
})

test('for an unreachable database waits, and each entry gets the outcome of its own task', async () => {
  const { batch, written, away } = openLedger((_forms, writes) => (writes <= 2 ? 'away' : null))
  const recorded = await Promise.all([batch.add(small(1)), batch.add(small(2))])
  expect(recorded.map(({ task }) => task)).toEqual([1, 2])
  expect(written).toEqual(['small 1', 'small 2'])
  expect(away).toEqual([true, true, false])
})

describe('with many lanes', () => {
  /** A database that takes as long as the test says, and the sizes of the batches that were started. */
  function openSlowLedger({ counted = false } = {}) {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const begun: number[] = []
    const ends: (() => void)[] = []
    const batch = new Batch({
      counted,
      write: async (entries) => {
        begun.push(entries.length)
        await new Promise<void>((resolve) => ends.push(resolve))
        return recordedOf(entries)
      },
      onAway: () => undefined,
      onStuck: () => undefined,
    })
    onTestFinished(() => void batch.abandon())
    const add = (count: number) => {
      for (let id = 1; id <= count; id += 1) void batch.add(small(id))
    }
    return { add, begun, end: async () => ends.shift()?.(), pass: vi.advanceTimersByTimeAsync }
  }

  test('entries that arrive one after the other are awaited, but not for long', async () => {
    const { add, begun, pass } = openSlowLedger()
    for (let ms = 0; ms < 45; ms += 5) {
      add(1)
      await pass(5)
    }
    expect(begun).toEqual([])
    add(1)
    await pass(10)
    expect(begun).toEqual([10])
  })

  test('nothing is awaited once no more arrive', async () => {
    const { add, begun, pass } = openSlowLedger()
    add(3)
    await pass(20)
    expect(begun).toEqual([3])
  })

  test('nothing is awaited if unrecorded entries prevent further purchases', async () => {
    const { add, begun, pass } = openSlowLedger({ counted: true })
    add(1)
    await pass(5)
    add(1)
    await pass(5)
    expect(begun).toEqual([2])
  })

  test('a second batch is written concurrently when it is full, and a third one never', async () => {
    const { add, begun, end, pass } = openSlowLedger()
    add(128)
    add(127)
    await pass(200)
    expect(begun).toEqual([128])
    add(1)
    expect(begun).toEqual([128, 128])
    add(128)
    await pass(1_000)
    expect(begun).toEqual([128, 128])
    await end()
    await pass(0)
    expect(begun).toEqual([128, 128, 128])
  })

  test('behind a slow batch the next one is written, however small', async () => {
    const { add, begun, pass } = openSlowLedger()
    add(128)
    add(1)
    await pass(240)
    expect(begun).toEqual([128])
    await pass(20)
    expect(begun).toEqual([128, 1])
  })
})
