import { expect, test } from 'vitest'
import { askSparingly } from '../../../src/features/notifications/metrics.ts'

/** Takes a second on a clock that only it advances, and returns 1, 2, 3 and so on. */
function slowCount() {
  const clock = { ms: 0 }
  let asked = 0
  const count = askSparingly(
    async () => {
      clock.ms += 1000
      return ++asked
    },
    () => clock.ms,
  )
  return { clock, count }
}

test('a count that took a second is repeated after twenty seconds, not before', async () => {
  const { clock, count } = slowCount()
  expect(await count()).toBe(1)
  clock.ms += 19_999
  expect(await count()).toBe(1)
  clock.ms += 1
  expect(await count()).toBe(2)
})

test('a count that failed is retried at once', async () => {
  let tries = 0
  const count = askSparingly(async () => {
    tries += 1
    if (tries === 1) throw new Error('gone')
    return tries
  })
  await expect(count()).rejects.toThrow('gone')
  expect(await count()).toBe(2)
})
