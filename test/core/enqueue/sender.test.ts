import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { idBytes, queryKey } from '../../../src/base/query.ts'
import { createSender } from '../../../src/core/enqueue/stage.ts'
import type { ListedQuery } from '../../../src/core/lists/rows.ts'

/** A database that replies when the test allows it. */
class Slow {
  readonly #waiting: { resolve: () => void; reject: (error: Error) => void }[] = []
  sent = 0

  readonly send = (): Promise<void> => {
    this.sent += 1
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  answer(): void {
    this.#waiting.shift()?.resolve()
  }

  fail(): void {
    this.#waiting.shift()?.reject(new Error('broken'))
  }
}

function queries(count: number, q = 'shoes'): ListedQuery[] {
  const query = { q, location: null, hl: null, gl: null, num: 10, device: null }
  const key = queryKey(query)
  const about = {
    priority: 5,
    weight: null,
    target: null,
    cpc: null,
    difficulty: null,
    everyDays: null,
    maxAgeMs: null,
    tags: [],
    given: null,
  }
  return Array.from({ length: count }, (_, line) => ({
    line,
    id: idBytes('query', key),
    key,
    query,
    ...about,
  }))
}

async function isPending(promise: Promise<void>): Promise<boolean> {
  let pending = true
  void promise.then(() => (pending = false))
  await setImmediate()
  return pending
}

describe('rows on their way to the database', () => {
  test('are sent in batches, the last and smaller one at the end', async () => {
    const slow = new Slow()
    const some = createSender(slow.send)
    await some.add(queries(3000))
    expect(slow.sent).toBe(0)
    await some.add(queries(3000))
    expect(slow.sent).toBe(1)
    await some.add(queries(10))
    const ending = some.end()
    slow.answer()
    await setImmediate()
    expect(slow.sent).toBe(2)
    slow.answer()
    await ending
  })

  test('are sent sooner if their texts are long', async () => {
    const slow = new Slow()
    const some = createSender(slow.send)
    await some.add(queries(1000, 'x'.repeat(2000)))
    expect(slow.sent).toBe(0)
    await some.add(queries(1000, 'x'.repeat(2000)))
    expect(slow.sent).toBe(1)
  })

  test('wait for a slow database: one batch is in flight, one is filled, and no more', async () => {
    const slow = new Slow()
    const some = createSender(slow.send)
    await some.add(queries(5000))
    const second = some.add(queries(5000))
    expect(await isPending(second)).toBe(true)
    expect(slow.sent).toBe(1)
    slow.answer()
    await second
    expect(slow.sent).toBe(2)
  })

  test('report a failed batch with the next one, or at the end', async () => {
    for (const next of ['add', 'end'] as const) {
      const slow = new Slow()
      const some = createSender(slow.send)
      await some.add(queries(5000))
      slow.fail()
      await expect(next === 'add' ? some.add(queries(5000)) : some.end()).rejects.toThrow('broken')
    }
  })

  test('are not sent if there are none', async () => {
    const slow = new Slow()
    await createSender(slow.send).end()
    expect(slow.sent).toBe(0)
  })
})
