import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Batch, type Setback } from '../../../src/commands/work/batch.ts'

class Refusal extends Error {
  readonly setback: Setback

  constructor(setback: Setback) {
    super(`refused: ${setback}`)
    this.setback = setback
  }
}

/** A store that refuses what the test says, and the batch that writes to it. */
function openStore(refuse: (items: readonly string[], writes: number) => Setback | null) {
  const written: string[] = []
  const away: boolean[] = []
  const stuck: unknown[] = []
  let writes = 0
  const batch = new Batch<string, string>({
    size: 8,
    delayMs: 1,
    writers: 1,
    write: async (items) => {
      writes += 1
      const setback = refuse(items, writes)
      if (setback !== null) throw new Refusal(setback)
      written.push(...items)
      return items
    },
    judge: (error) => (error instanceof Refusal ? error.setback : 'data'),
    lighten: (item) => (item.startsWith('heavy') ? item.replace('heavy', 'light') : null),
    onAway: (is) => away.push(is),
    onStuck: (error) => stuck.push(error),
  })
  return { batch, written, away, stuck }
}

describe('an item that cannot be written', () => {
  test('takes none of the others along', async () => {
    const { batch, written } = openStore((items) => (items.includes('heavy 3') ? 'data' : null))
    const items = ['one', 'two', 'heavy 3', 'four']
    await Promise.all(items.map(async (item) => batch.add(item)))
    expect(written.toSorted()).toEqual(['four', 'light 3', 'one', 'two'])
    expect(batch.size).toBe(0)
  })

  test('in any form is told, and stays among what is handed over in the end', async () => {
    const { batch, stuck } = openStore((items) => (items.includes('good') ? null : 'data'))
    void batch.add('bad')
    void batch.add('heavy')
    await expect.poll(() => stuck).toHaveLength(2)
    await batch.add('good')
    expect(batch.abandon()).toEqual(['bad', 'heavy'])
  })
})

test('who stands in the way for long is waited for, and nothing is made lighter or let go of', async () => {
  const noPause = vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => noPause.mockRestore())
  const { batch, written, away } = openStore((_items, writes) => (writes <= 22 ? 'conflict' : null))
  await batch.add('heavy')
  expect(written).toEqual(['heavy'])
  expect(away).toEqual([true, true, false])
})

test('a store that is away is waited for', async () => {
  const { batch, written, away } = openStore((_items, writes) => (writes <= 2 ? 'away' : null))
  expect(await Promise.all([batch.add('one'), batch.add('two')])).toEqual(['one', 'two'])
  expect(written).toEqual(['one', 'two'])
  expect(away).toEqual([true, true, false])
})
