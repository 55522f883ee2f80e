import { expect, test } from 'vitest'
import { maskPassword } from '../../src/base/address.ts'

test('an address is shown without its password, in front of the host or after it', () => {
  expect(maskPassword('redis://mill:secret@one:6379/0')).toBe('redis://mill:…@one:6379/0')
  expect(maskPassword('postgres://one/mill?password=secret&user=me')).toBe(
    'postgres://one/mill?password=…&user=me',
  )
})
