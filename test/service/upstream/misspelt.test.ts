import { describe, expect, test } from 'vitest'
import { misspellings } from '../../../src/service/upstream/spelling.ts'

describe('the possible corrections of a mistyped word', () => {
  test.each([
    ['wrokers', 'workers'],
    ['srevice', 'service'],
    ['layuot', 'layout'],
    ['scrol', 'scroll'],
    ['scrolll', 'scroll'],
    ['scrpll', 'scroll'],
    ['croll', 'scroll'],
  ])('of %s include %s', (word, meant) => {
    expect(misspellings(word).has(meant)).toBe(true)
  })

  test('are weighted by typing: an adjacent key more than a distant one, an end more than a beginning', () => {
    const found = misspellings('scrpll')
    expect(found.get('scroll') ?? 0).toBeGreaterThan(found.get('scrxll') ?? 1)
    const ends = misspellings('wordd')
    expect(ends.get('word') ?? 0).toBeGreaterThan(ends.get('ordd') ?? 1)
  })

  test('are few for a short word, unless the rest of the query suggests that it is one', () => {
    expect(misspellings('cat').size).toBe(0)
    expect(misspellings('shae').has('share')).toBe(true)
    expect(misspellings('mose').has('mouse')).toBe(true)
    expect(misspellings('mise').has('mine')).toBe(false)
    expect(misspellings('mise', { bold: true }).has('mine')).toBe(true)
  })

  test('are none for a word with other letters, nor for an endless one', () => {
    expect([misspellings('größe').size, misspellings('x'.repeat(25)).size]).toEqual([0, 0])
  })
})
