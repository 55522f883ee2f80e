import { describe, expect, test } from 'vitest'
import { type Cost, noPeak, unknownCost } from '../../../src/core/ledger/prices.ts'
import { believedPrices, priceLines } from '../../../src/core/runs/status-command.ts'

const lines = (cost: Partial<Cost>) =>
  priceLines(believedPrices(new Map([['10/-', { ...unknownCost, ...cost }]])))

describe('the price of a class of calls', () => {
  test('is shown with the number of answers that it is based on', () => {
    const steady = { first: 2, second: 2, count: 40 }
    expect(lines({ cheapest: 1, dearest: 2, seen: 812, earlier: steady })).toEqual([
      'price of 10/-: 1 to 2 credits in 812 answers, reserved per call: 2',
    ])
  })

  test('that occurred once and is an outlier is shown with the command that forgets it', () => {
    const odd = { first: 5_000, second: 1, count: 40 }
    const [line] = lines({ cheapest: 1, dearest: 5_000, seen: 81, earlier: odd, recent: noPeak })
    expect(line).toContain('5,000 if sent with other calls, 1 if sent alone')
    expect(line).toContain('npm run resume -- --forget-prices')
  })

  test('is not shown before the first one', () => {
    expect(lines({ trying: true })).toEqual([])
  })
})
