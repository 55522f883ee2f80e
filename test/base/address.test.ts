import { expect, test } from 'vitest'
import { parseUrl } from '../../src/base/address.ts'

test('an address with an umlaut in its host name is an address however often addresses were parsed before', () => {
  const found = new Set<string | undefined>()
  for (let round = 0; round < 20_000; round += 1) {
    parseUrl(`https://example.com/${round % 7}`)
    found.add(parseUrl('https://bücher.example/gut')?.hostname)
  }
  expect([...found]).toEqual(['xn--bcher-kva.example'])
})

test('a text that is no address is null', () => {
  expect([parseUrl('bücher'), parseUrl('https://'), parseUrl('/path')]).toEqual([null, null, null])
  expect(parseUrl('/path', 'https://example.com')?.href).toBe('https://example.com/path')
})
