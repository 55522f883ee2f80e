import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Batch } from '../../../src/commands/work/batch.ts'
import { entryOf, unsentCall } from '../../../src/commands/work/entry.ts'
import type { Entry } from '../../../src/credits/entry.ts'
import { answer, bought } from './pieces.ts'

/** How the database refuses a write: it is away, others stand in its way, or it dislikes the data. */
const refusals = {
  away: () => new Error('the connection broke'),
  conflict: () => Object.assign(new Error('deadlock detected'), { code: '40P01' }),
  data: () => new TypeError('no such value'),
}

/** A call that was not sent: there is no lighter form of it. */
const small = (id: number): Entry => unsentCall({ id, mark: null })

/** A call that brought an answer: without its rows it is lighter. */
function heavy(call: number): Entry {
  return entryOf(bought(call, answer()), { origin: 'live', api: 'api.example' })
}

/** What stands of an entry once it is written. */
function form({ call: { id }, answer: kept }: Entry): string {
  if (kept === null) return `small ${id}`
  return kept.search === null ? `light ${id}` : `heavy ${id}`
}

/** A database that refuses what the test says, and the batch that writes to it. */
function openLedger(
  refuse: (forms: readonly string[], writes: number) => keyof typeof refusals | null,
) {
  const written: string[] = []
  const away: boolean[] = []
  const stuck: unknown[] = []
  let writes = 0
  const batch = new Batch({
    lanes: 1,
    write: async (entries) => {
      writes += 1
      const refusal = refuse(entries.map(form), writes)
      if (refusal !== null) throw refusals[refusal]()
      written.push(...entries.map(form))
      return entries.map(({ call: { id } }) => ({
        call: id,
        task: id,
        state: 'answered',
        waitMs: null,
      }))
    },
    onAway: (is) => away.push(is),
    onStuck: (error) => stuck.push(error),
  })
  return { batch, written, away, stuck }
}

describe('an entry that cannot be written', () => {
  test('takes none of the others along', async () => {
    const { batch, written } = openLedger((forms) => (forms.includes('heavy 3') ? 'data' : null))
    const entries = [small(1), small(2), heavy(3), heavy(4)]
    await Promise.all(entries.map(async (entry) => batch.add(entry)))
    expect(written.toSorted()).toEqual(['heavy 4', 'light 3', 'small 1', 'small 2'])
    expect(batch.size).toBe(0)
  })

  test('in any form is reported, and is among those that are handed over in the end', async () => {
    const { batch, stuck } = openLedger((forms) => (forms.includes('small 3') ? null : 'data'))
    void batch.add(small(1))
    void batch.add(heavy(2))
    await expect.poll(() => stuck).toHaveLength(2)
    await batch.add(small(3))
    expect(batch.abandon().map(form)).toEqual(['small 1', 'heavy 2'])
  })
})

test('a write that others stand in the way of for long is waited for, and no entry is made lighter or let go of', async () => {
  const noPause = vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => noPause.mockRestore())
  const { batch, written, away } = openLedger((_forms, writes) =>
    writes <= 22 ? 'conflict' : null,
  )
  await batch.add(heavy(1))
  expect(written).toEqual(['heavy 1'])
  expect(away).toEqual([true, true, false])
})

test('a database that is away is waited for, and each entry gets what became of its own task', async () => {
  const { batch, written, away } = openLedger((_forms, writes) => (writes <= 2 ? 'away' : null))
  const recorded = await Promise.all([batch.add(small(1)), batch.add(small(2))])
  expect(recorded.map(({ task }) => task)).toEqual([1, 2])
  expect(written).toEqual(['small 1', 'small 2'])
  expect(away).toEqual([true, true, false])
})
