// @module-tag slow
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openShop, type Shop } from '../shop.ts'

let shop: Shop
let live: string

beforeAll(async () => {
  shop = await openShop({ upstream: 'local' })
  live = await shop.live(10_000)
})
afterAll(() => shop.service.close())

async function search(q: string, headers: Record<string, string> = {}) {
  const { status, json } = await shop.ask(`/v1/search?q=${encodeURIComponent(q)}`, live, {
    headers,
  })
  expect(status).toBe(200)
  return json
}

const tenFields = [
  'success',
  'query',
  'intent',
  'sentiment',
  'clusters',
  'entities',
  'organic_results',
  'related_searches',
  'credits_used',
  'credits_remaining',
]

describe('the interpretation of a query', () => {
  test('shows each word: typos, joined words, and words that are in no page', async () => {
    const { query, interpretation } = await search('umbrella multipleimport mpas')
    expect(query).toBe('umbrella multipleimport mpas')
    expect(interpretation).toEqual({
      query: 'multiple import maps',
      corrections: [
        { from: 'mpas', to: 'maps' },
        { from: 'multipleimport', to: 'multiple import' },
      ],
      ignored_words: ['umbrella'],
    })
  })

  test('shows ignored words if nothing was corrected', async () => {
    const { interpretation } = await search('weak references umbrella')
    expect(interpretation).toEqual({
      query: 'weak references',
      corrections: [],
      ignored_words: ['umbrella'],
    })
  })

  test('is absent if the query was unchanged, or has operators', async () => {
    expect(Object.keys(await search('weak references'))).toEqual(tenFields)
    expect(Object.keys(await search('"weak references" umbrella'))).toEqual(tenFields)
    expect(Object.keys(await search('giraffe marmalade'))).toEqual(tenFields)
  })

  test('follows the ten fields, and is repeated with a replayed answer', async () => {
    const headers = { 'idempotency-key': 'told-twice' }
    const first = await search('weak refrences', headers)
    expect(Object.keys(first)).toEqual([...tenFields, 'interpretation'])
    expect(await search('weak refrences', headers)).toEqual(first)
  })

  test('matches the description', async () => {
    const { components } = (await shop.ask('/openapi.json')).json as unknown as {
      readonly components: { readonly schemas: object }
    }
    const text = JSON.stringify(components.schemas)
    const $defs = JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/')) as object
    const told = z.fromJSONSchema({ $ref: '#/$defs/Interpretation', $defs } as never)
    expect(told.safeParse((await search('weak refrences')).interpretation).success).toBe(true)
    const { required } = (components.schemas as Record<string, { readonly required: string[] }>)[
      'SearchResponse'
    ] ?? { required: [] }
    expect(required).toEqual(tenFields)
  })
})
