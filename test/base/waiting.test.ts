import { expect, test } from 'vitest'
import { late, within } from '../../src/base/waiting.ts'

const never = new Promise<string>(() => undefined)

test('a promise that settles in time returns its value or its error', async () => {
  expect(await within(Promise.resolve('here'), { ms: 10_000 })).toBe('here')
  await expect(within(Promise.reject(new Error('gone')), { ms: 10_000 })).rejects.toThrow('gone')
})

test('a promise that does not settle is late after the time limit, or at the signal', async () => {
  expect(await within(never, { ms: 1 })).toBe(late)
  const stop = new AbortController()
  const waiting = within(never, { ms: 10_000, signal: stop.signal })
  stop.abort()
  expect(await waiting).toBe(late)
  expect(await within(never, { ms: 10_000, signal: stop.signal })).toBe(late)
})
