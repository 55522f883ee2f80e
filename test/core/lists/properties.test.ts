// @module-tag slow
import { fc } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { MillError } from '../../../src/base/errors.ts'
import { canonicalText } from '../../../src/base/query.ts'
import { read, utf16be } from './support.ts'

const letters = 'abcxyzäößéñçłżşğøåžčابتپ日本語検索ひらカタ한국어ไทยабвгд0123456789'
const signs = ` .,;|'"-+&()[]!?/:#@%\u200b`

const word = fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 8 })
const text = fc
  .tuple(word, fc.string({ unit: fc.constantFrom(...letters, ...signs), maxLength: 20 }))
  .map(([first, rest]) => `${first}${rest}`)

const dialect = fc.record({
  delimiter: fc.constantFrom(',', ';', '\t', '|'),
  end: fc.constantFrom('\n', '\r\n', '\r'),
  encode: fc.constantFrom(
    (written: string) => Buffer.from(written),
    (written: string) => Buffer.from(`\ufeff${written}`),
    (written: string) => Buffer.from(written, 'utf16le'),
    (written: string) => Buffer.from(`\ufeff${written}`, 'utf16le'),
    (written: string) => utf16be(written),
    (written: string) => utf16be(`\ufeff${written}`),
  ),
  preamble: fc.constantFrom([], ['Keyword Stats 2026'], ['Report', '9 May 2026', '']),
  name: fc.constantFrom('keyword', 'Top queries', ' Keyword', '上位のクエリ', 'Zoekwoord'),
  lastEnd: fc.boolean(),
})

function quote(cell: string, delimiter: string): string {
  return new RegExp(`["\\r\\n${delimiter === '|' ? '\\|' : delimiter}]`).test(cell)
    ? `"${cell.replaceAll('"', '""')}"`
    : cell
}

describe('any list in any dialect and encoding', () => {
  test('comes back as the same queries in the same order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { minLength: 1, maxLength: 30 }),
        dialect,
        async (queries, { delimiter, end, encode, preamble, name, lastEnd }) => {
          const rows = [
            ['no', name, 'volume'],
            ...queries.map((query, index) => [String(index), query, '10']),
          ]
          const lines = rows.map((cells) =>
            cells.map((cell) => quote(cell, delimiter)).join(delimiter),
          )
          const written = [...preamble, ...lines].join(end) + (lastEnd ? end : '')
          const { texts, rejected, usable } = await read(encode(written))
          expect(rejected).toEqual([])
          expect(usable).toBe(queries.length)
          expect(texts).toEqual(queries.map((query) => canonicalText(query)))
        },
      ),
      { numRuns: 150 },
    )
  })
})

/** Returns null for a known error. Every other error is a bug. */
function refusal(error: unknown): null {
  if (error instanceof MillError) return null
  throw error
}

describe('any bytes', () => {
  const soup = fc.oneof(
    fc.uint8Array({ maxLength: 2000 }),
    fc
      .array(
        fc.constantFrom(
          '"',
          '""',
          ',',
          ';',
          '\t',
          '\n',
          '\r',
          '\r\n',
          '\u0000',
          'q',
          'keyword',
          'é',
          '\ufeff',
          ' ',
          'x',
        ),
        { maxLength: 200 },
      )
      .map((parts) => new Uint8Array(Buffer.from(parts.join('')))),
  )

  test('are read or refused in one sentence, and what is read adds up', async () => {
    await fc.assert(
      fc.asyncProperty(soup, async (bytes) => {
        const found = await read(Buffer.from(bytes)).catch(refusal)
        if (found === null) return
        const { queries, usable, rejected } = found
        expect(queries.length).toBe(usable)
        for (const { query } of queries) expect(query.q).toBe(canonicalText(query.q))
        const lines = [...queries, ...rejected].map(({ line }) => line)
        expect(new Set(lines).size).toBe(lines.length)
      }),
      { numRuns: 300 },
    )
  })

  test('below a header never lose a line that holds anything', async () => {
    await fc.assert(
      fc.asyncProperty(soup, async (bytes) => {
        const body = Buffer.from(bytes)
          .toString('utf8')
          .replace(/[",;|\ufeff\p{Cc}]/gu, (sign) => (sign === '\n' ? sign : ''))
        const { usable, rejected } = await read(`a,keyword,b\n${body.replace(/^/gm, '1,')}`)
        const lines = body.split('\n').length
        expect(usable + rejected.length).toBe(lines)
      }),
      { numRuns: 200 },
    )
  })
})

describe('the canonical text', () => {
  test('of a canonical text is itself', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (given) => {
        const once = canonicalText(given)
        expect(canonicalText(once)).toBe(once)
      }),
    )
  })

  test('is the same for every way to write the same letters and blanks', () => {
    fc.assert(
      fc.property(text, (given) => {
        const once = canonicalText(given)
        expect(
          canonicalText(`\u00a0${given.normalize('NFD').replaceAll(' ', ' \n\t')}\u2003`),
        ).toBe(once)
      }),
    )
  })
})
