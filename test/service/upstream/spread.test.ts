import { describe, expect, test } from 'vitest'
import { spread } from '../../../src/service/upstream/find.ts'

function page(url: string, score = 1) {
  return { url: `https://${url}`, score }
}

function urls(pages: readonly { readonly url: string }[]): string[] {
  return pages.map(({ url }) => url.slice('https://'.length))
}

describe('pages of one folder of a site', () => {
  const members = Array.from({ length: 12 }, (_, index) => page(`docs.example/api/thing/${index}`))
  const others = Array.from({ length: 9 }, (_, index) => page(`site${index}.example/a`, 0.8))

  test('appear at most twice among the first ten if other pages are nearly as relevant', () => {
    const first = urls(spread([...members, ...others])).slice(0, 10)
    expect(first.filter((url) => url.startsWith('docs.example'))).toEqual([
      'docs.example/api/thing/0',
      'docs.example/api/thing/1',
    ])
    expect(first.slice(2)).toEqual(urls(others).slice(0, 8))
  })

  test('keep their positions if no other pages are relevant', () => {
    expect(spread(members)).toEqual(members)
    const poor = others.map(({ url }) => ({ url, score: 0.3 }))
    expect(spread([...members, ...poor])).toEqual([...members, ...poor])
  })

  test('are all included once, the later ones in their order', () => {
    const given = [...members, ...others]
    const spreadOut = urls(spread(given))
    expect(spreadOut.toSorted()).toEqual(urls(given).toSorted())
    const later = spreadOut.slice(10).filter((url) => url.startsWith('docs.example'))
    expect(later).toEqual(urls(members).slice(2))
  })

  test('are recognised by host and path, whatever the address ends with', () => {
    const given = [
      'a.example/x/1',
      'a.example/x/2/',
      'a.example/x/3',
      'a.example/y/1',
      'b.example/x/1',
    ]
    expect(urls(spread(given.map((url) => page(url))))).toEqual([
      'a.example/x/1',
      'a.example/x/2/',
      'a.example/y/1',
      'b.example/x/1',
      'a.example/x/3',
    ])
  })
})
