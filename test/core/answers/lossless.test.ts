// @module-tag slow
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAnswers, storeAnswers } from '../../../src/core/answers/store.ts'
import { askQuery, paid } from '../../support/paid.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { isReadRight } from '../../support/parser.ts'
import { rebuildAnswer } from '../search/rebuild.ts'

let database: FreshDatabase
let calls = 0
beforeAll(async () => {
  database = await freshDatabase()
  await askQuery(database.db)
})
afterAll(() => database.close())

/** Stores bodies in one batch and rebuilds each from its rows. */
async function roundTrip(bodies: readonly string[]): Promise<unknown[]> {
  const answers = bodies.map((body) => paid((calls += 1), body))
  await database.db.transaction().execute((trx) => storeAnswers(trx, answers))
  const rows = await readAnswers(
    database.db,
    answers.map(({ callId }) => callId),
  )
  return answers.map(({ callId }) => {
    const found = rows.get(callId)
    return found === undefined ? undefined : rebuildAnswer(found)
  })
}

/** The content of a body, as far as Postgres can store it. Written independently of the tested code. */
function said(body: string): unknown {
  const fit = (text: string) => text.toWellFormed().replaceAll('\u0000', '\ufffd')
  return JSON.parse(body, (_, value: unknown) => {
    if (typeof value === 'string') return fit(value)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(
      apart(Object.entries(value).map(([name, inner]) => [fit(name), inner])),
    )
  })
}

/** Two names that differed only in replaced characters stay distinct: the later one is extended. */
function apart(entries: readonly (readonly [string, unknown])[]): (readonly [string, unknown])[] {
  const taken = new Set<string>()
  return entries.map(([name, inner]) => {
    let own = name
    while (taken.has(own)) own += '\ufffd'
    taken.add(own)
    return [own, inner] as const
  })
}

const nasty = [
  ...[
    '',
    ' ',
    '0',
    'null',
    '\u0000',
    'a\u0000b',
    '\ud800',
    'x\udfff',
    '\ufffd',
    '\u001f',
    'a\u001fb',
  ],
  ...[
    '😀👩‍👩‍👧',
    'שלום עולם',
    'مرحبا',
    '\u202eabc',
    'e\u0301',
    '<b>bold</b> &amp; <script>',
    "'; drop table x; --",
  ],
  ...['\\', '"', '{}', '[]', '\n\t\r', '$1', '%s', '\\u0000', 'ａ', '__proto__', 'constructor'],
]
const addresses = [
  ...['https://example.com/', 'https://example.com/', 'http://example.com:80/a?utm_source=x#y'],
  ...[
    'https://münchen.de/straße',
    'https://xn--mnchen-3ya.de/',
    'http://192.0.2.7/',
    'http://[2001:db8::1]/',
  ],
  ...[
    'news:alt.religion.goddess',
    'javascript:alert(1)',
    'no address',
    `https://example.com/${'x'.repeat(10_000)}`,
  ],
]
const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }) },
  { weight: 3, arbitrary: fc.constantFrom(...nasty) },
  { weight: 1, arbitrary: fc.constantFrom('y'.repeat(140_051)) },
)
const whole = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: -1, max: 200 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(
      ...[3e9, 2 ** 53, 1e20, 1e300, 5e-324, 1.5, -0.1, '3', '03', '-1', '1e3', 4_294_967_296],
    ),
  },
)
const odd = fc.jsonValue({ maxDepth: 4 })
const mostly = (usual: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 10, arbitrary: usual }, { weight: 1, arbitrary: odd })
const beyond = fc.dictionary(fc.oneof(text, fc.constantFrom('missing', 'ads', '__proto__')), odd, {
  maxKeys: 2,
})
const also = (fields: fc.Arbitrary<object>) =>
  fc.oneof(
    { weight: 3, arbitrary: fields },
    { weight: 1, arbitrary: fc.tuple(fields, beyond).map(([own, more]) => merge(more, own)) },
  )
const list = (item: fc.Arbitrary<unknown>) => mostly(fc.array(mostly(item), { maxLength: 5 }))
const some = { requiredKeys: [] as [] }

// A different query would make it an answer without rows.
const echoes = ['red shoes', 'Red SHOES', ' red\u00a0\u00a0shoes\u200b', '']

const result = also(
  fc.record(
    {
      position: mostly(whole),
      title: mostly(text),
      url: mostly(fc.oneof(fc.constantFrom(...addresses), text)),
      snippet: mostly(text),
      domain: mostly(fc.oneof(fc.constantFrom('example.com', 'münchen.de', ''), text)),
    },
    some,
  ),
)
const body = also(
  fc.record(
    {
      success: fc.oneof(
        { weight: 9, arbitrary: fc.constant(true) },
        fc.constantFrom(null, 'false', 0),
      ),
      query: fc.oneof(
        { weight: 10, arbitrary: fc.constantFrom(...echoes) },
        { weight: 1, arbitrary: odd.filter((value) => typeof value !== 'string') },
      ),
      intent: mostly(text),
      sentiment: mostly(text),
      clusters: list(text),
      entities: list(also(fc.record({ name: mostly(text), type: mostly(text) }, some))),
      organic_results: list(result),
      related_searches: list(text),
      credits_used: mostly(whole),
      credits_remaining: mostly(whole),
    },
    some,
  ),
)
  .map((answer) => JSON.stringify(answer))
  .filter(isReadRight)

/** Not by assignment, because `__proto__` would be treated differently. */
function merge(...objects: readonly object[]): object {
  return Object.fromEntries(objects.flatMap((object) => Object.entries(object)))
}

describe('the rows of an answer', () => {
  test('contain everything that its body contained', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(body, { minLength: 20, maxLength: 40 }), async (bodies) => {
        // Only `success: false` makes it something other than an answer.
        const answers = bodies.filter((each) => !/"success":false/.test(each))
        const rebuilt = await roundTrip(answers)
        answers.forEach((each, index) => {
          if (isDeepStrictEqual(rebuilt[index], said(each))) return
          expect(rebuilt[index]).toEqual(said(each))
          throw new Error(`expected ${each} to be rebuilt, got ${JSON.stringify(rebuilt[index])}`)
        })
      }),
      { numRuns: 30 },
    )
  })

  test.each([
    ['nothing', '{}'],
    ['nulls', '{"organic_results":null,"clusters":null,"intent":null,"credits_used":null}'],
    ['empty lists', '{"organic_results":[],"clusters":[],"entities":[],"related_searches":[]}'],
    ['lists of nothing', '{"organic_results":[{},null,[]],"clusters":[null],"entities":[{}]}'],
    ['objects for lists', '{"organic_results":{"0":{"title":"x"}},"entities":{"name":"x"}}'],
    ['repeated and missing positions', '{"organic_results":[{"position":1},{"position":1},{}]}'],
    ['an entity with two types', '{"entities":[{"name":"a","type":"x"},{"name":"a","type":"y"}]}'],
    ['an entity that says more', '{"entities":[{"name":"a","type":"x","__proto__":1}]}'],
    ['an echo in other letters', '{"query":"Red  SHOES"}'],
    ['an echo that is no text', '{"query":["other"]}'],
    ['a field named missing', '{"missing":["success"],"organic_results":[{"missing":1}]}'],
    ['fields of error answers', '{"success":true,"error":{"code":"X"}}'],
    ['numbers beyond exactness', '{"x":[9007199254740993,1e308,5e-324,0.1,1E5,-0.0e3]}'],
    ['a field given twice', '{"intent":"a","intent":"b","x":1,"x":2}'],
    ['spaces and escapes', ' {"\\u0069ntent" : "\\u0061\\/" } '],
    ['the same word in every list', '{"clusters":["a","a"],"related_searches":["a","a"]}'],
  ])('store %s', async (_, given) => {
    const [rebuilt] = await roundTrip([given])
    // Postgres has no negative zero, and neither have real results.
    expect(JSON.stringify(sorted(rebuilt))).toBe(JSON.stringify(sorted(said(given))))
  })

  test('are rebuilt completely from the maximum nesting', async () => {
    const deep = `{"x":${'[{"y":'.repeat(31)}[1]${'}]'.repeat(31)}}`
    expect(await roundTrip([deep])).toEqual([JSON.parse(deep)])
  })
})

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, inner]) => [name, sorted(inner)] as const)
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
