import { expect, test } from 'vitest'
import { late, soon } from '../../src/shared/waiting.ts'

const never = new Promise<string>(() => undefined)

test('what comes in time is given back, and so is its failure', async () => {
  expect(await soon(Promise.resolve('here'), { ms: 10_000 })).toBe('here')
  await expect(soon(Promise.reject(new Error('gone')), { ms: 10_000 })).rejects.toThrow('gone')
})

test('what does not come is late when the time is over, or at the signal', async () => {
  expect(await soon(never, { ms: 1 })).toBe(late)
  const stop = new AbortController()
  const waiting = soon(never, { ms: 10_000, signal: stop.signal })
  stop.abort()
  expect(await waiting).toBe(late)
  expect(await soon(never, { ms: 10_000, signal: stop.signal })).toBe(late)
})
