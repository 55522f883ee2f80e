import { describe, expect, test } from 'vitest'
import { keyKind, makeKey } from '../../src/service/keys.ts'

describe('a key', () => {
  test('shows its kind', () => {
    expect(keyKind(makeKey('live'))).toBe('live')
    expect(keyKind(makeKey('test'))).toBe('test')
  })

  test('with one mistyped character is known to be wrong without a query', () => {
    const key = makeKey('live')
    for (let at = 'sk_live_'.length; at < key.length; at += 1) {
      const other = key[at] === 'x' ? 'y' : 'x'
      expect(keyKind(key.slice(0, at) + other + key.slice(at + 1))).toBeNull()
    }
  })

  test('of another shape, length or kind was not issued here', () => {
    const key = makeKey('test')
    const others = [
      '',
      'sk_test_',
      key.slice(0, -1),
      `${key}0`,
      key.replace('test', 'live'),
      ` ${key}`,
    ]
    for (const other of others) expect(keyKind(other)).toBeNull()
  })
})
