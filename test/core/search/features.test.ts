import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/base/answer.ts'
import { featuresOf } from '../../../src/core/search/parse.ts'

const rows = (extra: JsonObject) =>
  featuresOf(extra).map(({ ordinal, item }) => {
    const { kind, page, domain, text, extra: rest } = item
    return [ordinal, kind, page?.key ?? null, domain?.host ?? null, text, rest]
  })

describe('blocks that the specification does not name', () => {
  test('give a row for each item in them, in the order of the answer', () => {
    expect(
      rows({
        ads: [{ url: 'https://a.com/x', title: 'A', rank: 1 }, { link: 'https://b.com/' }],
        knowledge_graph: { title: 'Shoe', type: 'thing' },
        questions: ['Why?', null, { question: 'How?', domain: 'c.com' }],
      }),
    ).toEqual([
      [1, 'ads', 'a.com/x', 'a.com', 'A', { rank: 1 }],
      [2, 'ads', 'b.com', 'b.com', null, null],
      [3, 'knowledge_graph', null, null, 'Shoe', { type: 'thing' }],
      [4, 'questions', null, null, 'Why?', null],
      [5, 'questions', null, 'c.com', 'How?', null],
    ])
  })

  test('exclude plain values, and keep everything in an item', () => {
    expect(featuresOf(null)).toEqual([])
    expect(rows({ took_ms: 12, request_id: 'x', cached: true, none: null, empty: [] })).toEqual([])
    expect(rows({ odd: [1, [2], { url: 'javascript:x', source: 'The Times', title: 3 }] })).toEqual(
      [
        [1, 'odd', null, null, null, { value: 1 }],
        [2, 'odd', null, null, null, { value: [2] }],
        [3, 'odd', null, null, null, { url: 'javascript:x', source: 'The Times', title: 3 }],
      ],
    )
    const evil = JSON.parse('{"ads": [{"__proto__": {"x": 1}, "text": "t"}]}') as JsonObject
    expect(JSON.stringify(rows(evil))).toBe('[[1,"ads",null,null,"t",{"__proto__":{"x":1}}]]')
  })
})
