// @module-tag slow
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openShop, type Shop } from '../shop.ts'

let shop: Shop
let live: string

beforeAll(async () => {
  shop = await openShop({ upstream: 'local' })
  live = await shop.live(10_000)
})
afterAll(() => shop.service.close())

async function firstTitle(q: string): Promise<string | undefined> {
  const { json } = await shop.ask(`/v1/search?q=${encodeURIComponent(q)}`, live)
  return json.organic_results?.[0]?.title
}

describe('a misplaced space', () => {
  test.each([
    ['weakreferences', /^Weak references/],
    ['multipleimport maps', /^Multiple import maps/],
    ['srcset andsizes', /^Srcset and sizes/i],
  ])('%s, two words written as one, finds the page of both', async (q, title) => {
    expect(await firstTitle(q)).toMatch(title)
  })

  test.each([
    ['channel mes saging', /^Channel messaging/i],
    ['datalist ele ment', /^Datalist element/i],
    ['con nection allowlists', /^Connection allowlists/i],
  ])('%s, one word written as two, finds the page of the whole', async (q, title) => {
    expect(await firstTitle(q)).toMatch(title)
  })

  test('does not change known words or operators', async () => {
    expect(await firstTitle('web components')).toMatch(/components/i)
    expect(await firstTitle('"weakreferences"')).toBe(undefined)
    expect(await firstTitle('"iterators array typed"')).toBe(undefined)
  })
})

describe('a typo in a short word', () => {
  test.each([
    ['extended deno', /^Extended demo/i],
    ['uaer timing', /^User Timing/i],
  ])('%s is corrected if a title contains it with the other words', async (q, title) => {
    expect(await firstTitle(q)).toMatch(title)
  })

  test('is not corrected if no title contains it with the other words', async () => {
    expect(await firstTitle('used cars berlin')).toBe(undefined)
  })
})
