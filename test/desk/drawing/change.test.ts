import { describe, expect, test } from 'vitest'
import { change, clicks } from '../../../src/desk/drawing/html.ts'

const told = (markup: string) => /class="(\w+)"\s*>([^<]*)</.exec(markup)?.slice(1)

describe('what was won or lost', () => {
  test('has the colour of what its number says: nought when it is rounded has none', () => {
    expect([0.2, 0.001, 0, -0.001, -0.2].map((value) => told(clicks(value).text))).toEqual([
      ['good', '+0.20'],
      ['none', '0.00'],
      ['none', '0.00'],
      ['none', '0.00'],
      ['bad', '-0.20'],
    ])
    expect([0.01, 0.00001, -0.00001, -0.01].map((share) => told(change(share).text))).toEqual([
      ['good', '+1.00'],
      ['none', '0.00'],
      ['none', '0.00'],
      ['bad', '-1.00'],
    ])
  })
})
