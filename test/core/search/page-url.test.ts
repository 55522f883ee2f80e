import { describe, expect, test } from 'vitest'
import { readAddress, siteOf } from '../../../src/core/search/parse.ts'

describe('an address', () => {
  test.each([
    ['https://www.example.com/', 'www.example.com', 'www.example.com'],
    ['http://www.example.com:80/a/', 'www.example.com', 'www.example.com/a'],
    ['https://EXAMPLE.com:8443/A?b=1&a=2#top', 'example.com', 'example.com:8443/A?b=1&a=2'],
    ['https://example.com/a?utm_source=x&id=7&gclid=y', 'example.com', 'example.com/a?id=7'],
    ['https://example.com/a?fbclid=y', 'example.com', 'example.com/a'],
    ['https://example.com/a?gclidx=y', 'example.com', 'example.com/a?gclidx=y'],
    ['https://münchen.de/straße', 'xn--mnchen-3ya.de', 'xn--mnchen-3ya.de/stra%C3%9Fe'],
    ['http://192.0.2.7/x', '192.0.2.7', '192.0.2.7/x'],
    ['http://example.com/a b<c', 'example.com', 'example.com/a%20b%3Cc'],
    ['news:alt.religion.goddess', null, 'news:alt.religion.goddess'],
    ['javascript:alert(1)', null, 'javascript:alert(1)'],
    ['//example.com/x#y', null, '//example.com/x'],
    ['not an address', null, 'not an address'],
  ])('%s has host %s and key %s', (url, host, key) => {
    expect(readAddress(url)).toEqual({ host, key })
  })

  test('of ten thousand characters is read like any other', () => {
    const url = `https://example.com/${'a'.repeat(10_000)}`
    expect(readAddress(url).key).toBe(url.slice('https://'.length))
  })
})

describe('a host', () => {
  test.each([
    ['www.bbc.co.uk', 'bbc.co.uk'],
    ['EXAMPLE.com', 'example.com'],
    ['münchen.de', 'xn--mnchen-3ya.de'],
    ['xn--mnchen-3ya.de', 'xn--mnchen-3ya.de'],
    ['someone.github.io', 'someone.github.io'],
    ['192.0.2.7', null],
    ['[2001:db8::1]', null],
    ['localhost', null],
    ['co.uk', null],
    ['not a host', null],
  ])('%s belongs to the site %s', (host, site) => {
    expect(siteOf(host)).toBe(site)
  })
})
