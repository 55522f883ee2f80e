import { expect, test } from 'vitest'
import { Latencies } from '../../../src/core/worker/summary.ts'

test('the latencies of calls are accurate to one percent, whatever their order', () => {
  const latencies = new Latencies()
  expect(latencies.within(0.5)).toBeNull()
  for (let ms = 1000; ms >= 1; ms -= 1) latencies.add(ms / 1000)
  for (const share of [0.5, 0.95, 1]) {
    const told = latencies.within(share) ?? 0
    expect(Math.abs(told / (share * 1000) - 1)).toBeLessThan(0.0125)
  }
})

test('a call that took no time counts like any other', () => {
  const latencies = new Latencies()
  latencies.add(0)
  expect(latencies.within(0.5)).toBe(0)
})
