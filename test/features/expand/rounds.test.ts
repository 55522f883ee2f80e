import { describe, expect, test } from 'vitest'
import { nextRound, type RoundsState } from '../../../src/features/expand/expand.ts'
import { type ExpandFlags, readOrder } from '../../../src/features/expand/command.ts'

const round = (number: number, more: object = {}) => ({
  round: number,
  queries: 10,
  unplanned: 0,
  open: 0,
  unasked: 0,
  ...more,
})

const step = (more: Partial<RoundsState>) =>
  nextRound({ rounds: [], busy: false, depth: 2, left: 100, price: 1, ...more })

describe('the next step', () => {
  test('divides the remaining credits over the remaining rounds', () => {
    expect(step({})).toEqual({ kind: 'take', from: 0, until: 0, share: 50 })
    expect(step({ depth: 5, left: 60, rounds: [round(1)] })).toEqual({
      kind: 'take',
      from: 1,
      until: 1,
      share: 15,
    })
  })

  test('adds at least one query if there are fewer credits than rounds', () => {
    expect(step({ depth: 5, left: 3 })).toMatchObject({ kind: 'take', share: 1 })
  })

  test('spends what is left after the last round on the best of all rounds', () => {
    expect(step({ rounds: [round(1), round(2)], left: 7 })).toEqual({
      kind: 'take',
      from: 0,
      until: 1,
      share: 7,
    })
  })

  test('waits while anything is open', () => {
    expect(step({ rounds: [round(1, { open: 1 })] })).toEqual({ kind: 'wait', round: 1 })
    expect(step({ rounds: [round(1)], busy: true })).toEqual({ kind: 'wait', round: 1 })
  })

  test('first buys what was selected and never bought', () => {
    const rounds = [round(1, { unasked: 3 }), round(2, { unplanned: 4 })]
    expect(step({ rounds })).toEqual({ kind: 'again', round: 2, queries: 7 })
  })

  test('is none if the credits do not cover the cheapest query', () => {
    expect(step({ left: 1, price: 2 })).toEqual({ kind: 'spent' })
    expect(step({ left: 1, price: 2, rounds: [round(1, { unasked: 3 })] })).toEqual({
      kind: 'spent',
    })
  })
})

describe('the flags', () => {
  const refused = (flags: ExpandFlags) => () => readOrder(flags)

  test('need a list and credits', () => {
    expect(refused({ credits: '5' })).toThrow(/expected --list with a list name, got none/)
    expect(refused({ list: 'a' })).toThrow(/expected --credits with the maximum/)
  })

  test('allow at least one credit and at least one round', () => {
    for (const credits of ['0', '-1', '1.5', 'many', '']) {
      expect(refused({ list: 'a', credits })).toThrow(/expected --credits to be a whole number/)
    }
    for (const depth of ['0', '21', 'deep']) {
      expect(refused({ list: 'a', credits: '1', depth })).toThrow(/expected --depth to be/)
    }
  })

  test('select a new list, with one round by default', () => {
    expect(readOrder({ list: 'a', credits: '9' })).toMatchObject({
      into: 'a-expanded',
      credits: 9,
      depth: 1,
    })
  })
})
