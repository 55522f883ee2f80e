import { expect, test } from 'vitest'
import { Tally } from '../../../src/core/worker/summary.ts'

test('the latencies of calls are accurate to one percent, whatever their order', () => {
  const tally = new Tally()
  const { latency_ms: none } = tally.sum('completed')
  expect(none).toEqual({ median: null, p95: null })
  for (let ms = 1000; ms >= 1; ms -= 1) tally.took(ms / 1000)
  const { median, p95 } = tally.sum('completed').latency_ms
  expect(Math.abs((median ?? 0) / 500 - 1)).toBeLessThan(0.0125)
  expect(Math.abs((p95 ?? 0) / 950 - 1)).toBeLessThan(0.0125)
})

test('a call that took no time counts like any other', () => {
  const tally = new Tally()
  tally.took(0)
  expect(tally.sum('completed').latency_ms).toEqual({ median: 0, p95: 0 })
})
