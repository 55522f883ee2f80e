import { describe, expect, test } from 'vitest'
import {
  countFlag,
  runNumber,
  timeoutFlag,
  wholeFlag,
  wordFlag,
} from '../../../src/base/cli/flags.ts'

describe('a flag', () => {
  test('with the number of a run accepts only numbers from 1 up, and says where they are shown', () => {
    expect(runNumber('12')).toBe(12)
    for (const text of ['0', '-1', '1.5', 'last', '']) {
      expect(() => runNumber(text)).toThrow(`got ${JSON.stringify(text)}; npm run status`)
    }
  })

  test('with a whole number accepts zero up to its limit, and may be left out', () => {
    expect(wholeFlag('port', '0', 65_535)).toBe(0)
    expect(wholeFlag('port', undefined, 65_535)).toBeUndefined()
    for (const text of ['65536', '-1', '1e3', ' 7']) {
      const message = `expected --port to be a whole number up to 65535, got ${text}`
      expect(() => wholeFlag('port', text, 65_535)).toThrow(message)
    }
  })

  test('with a count does not accept zero', () => {
    expect(countFlag('runs', '3')).toBe(3)
    for (const text of ['0', '-3', '2.5', 'three']) {
      const message = `expected --runs to be a whole number of at least 1, got ${text}`
      expect(() => countFlag('runs', text)).toThrow(message)
    }
  })

  test('with a word accepts the allowed words, and lists them for any other', () => {
    expect(wordFlag('format', 'csv', ['csv', 'json'])).toBe('csv')
    const message = 'expected --format to be one of csv, json, got CSV'
    expect(() => wordFlag('format', 'CSV', ['csv', 'json'])).toThrow(message)
  })

  test('with a time limit accepts durations up to the maximum, and no unlimited one', () => {
    const limit = { like: '90s, at most 2m', mostMs: 120_000 }
    expect(timeoutFlag('90s', limit)).toBe(90_000)
    expect(timeoutFlag('9000d', { like: '10m' })).toBe(777_600_000_000)
    for (const text of ['0', '121s', 'soon', '90']) {
      const message = `expected --timeout to be a duration like 90s, at most 2m, got ${text}`
      expect(() => timeoutFlag(text, limit)).toThrow(message)
    }
  })
})
