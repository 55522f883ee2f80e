import { describe, expect, test } from 'vitest'
import { change, clicks } from '../../../src/desk/drawing/html.ts'

const told = (markup: string) => /class="(\w+)"\s*>([^<]*)</.exec(markup)?.slice(1)

describe('a gain or loss', () => {
  test('has the colour of its displayed number: a rounded zero has none', () => {
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
