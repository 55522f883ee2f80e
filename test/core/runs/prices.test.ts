import { describe, expect, test } from 'vitest'
import { type Cost, noPeak, unknownCost } from '../../../src/core/ledger/prices.ts'
import { believedPrices, priceLines } from '../../../src/core/runs/screen.ts'

const lines = (cost: Partial<Cost>) =>
  priceLines(believedPrices(new Map([['10/-', { ...unknownCost, ...cost }]])))

describe('the price of a kind of calls', () => {
  test('is told with the answers that it rests on', () => {
    const steady = { first: 2, second: 2, count: 40 }
    expect(lines({ cheapest: 1, dearest: 2, seen: 812, earlier: steady })).toEqual([
      'price of 10/-: 1 to 2 credits in 812 answers, reserved per call: 2',
    ])
  })

  test('that came once and is far from all others is told with the command that forgets it', () => {
    const odd = { first: 5_000, second: 1, count: 40 }
    const [line] = lines({ cheapest: 1, dearest: 5_000, seen: 81, earlier: odd, recent: noPeak })
    expect(line).toContain('5,000 together, 1 alone')
    expect(line).toContain('npm run resume -- --forget-prices')
  })

  test('is not told while none was seen', () => {
    expect(lines({ trying: true })).toEqual([])
  })
})
