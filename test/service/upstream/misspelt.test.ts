import { describe, expect, test } from 'vitest'
import { misspellings } from '../../../src/service/upstream/spelling.ts'

describe('the words that a mistyped one can have been', () => {
  test.each([
    ['wrokers', 'workers'],
    ['srevice', 'service'],
    ['layuot', 'layout'],
    ['scrol', 'scroll'],
    ['scrolll', 'scroll'],
    ['scrpll', 'scroll'],
    ['croll', 'scroll'],
  ])('of %s %s is one', (word, meant) => {
    expect(misspellings(word).has(meant)).toBe(true)
  })

  test('weigh by how fingers slip: a key beside the right one more than a far one, an end more than a beginning', () => {
    const found = misspellings('scrpll')
    expect(found.get('scroll') ?? 0).toBeGreaterThan(found.get('scrxll') ?? 1)
    const ends = misspellings('wordd')
    expect(ends.get('word') ?? 0).toBeGreaterThan(ends.get('ordd') ?? 1)
  })

  test('are few where a word is short, unless the rest of the query says that it is one', () => {
    expect(misspellings('cat').size).toBe(0)
    expect(misspellings('shae').has('share')).toBe(true)
    expect(misspellings('mose').has('mouse')).toBe(true)
    expect(misspellings('mise').has('mine')).toBe(false)
    expect(misspellings('mise', { bold: true }).has('mine')).toBe(true)
  })

  test('are none of a word with other letters, nor of one that is endless', () => {
    expect([misspellings('größe').size, misspellings('x'.repeat(25)).size]).toEqual([0, 0])
  })
})
