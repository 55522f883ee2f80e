// @module-tag slow
import { fc } from '@fast-check/vitest'
import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { Cutter } from '../../../src/core/lists/records.ts'

const cell = fc.string({ unit: fc.constantFrom(...' abcäß本,;\t|\u{1f45f}'), maxLength: 6 })
const end = fc.constantFrom('\n', '\r\n', '\r', '\n\n')

/** Splits a text that arrives in pieces. */
function cut(text: string, delimiter: string, sizes: readonly number[]) {
  const bytes = Buffer.from(text)
  const cutter = new Cutter(delimiter, 'list.csv')
  const found = []
  let at = 0
  for (const size of sizes) {
    found.push(cutter.push(bytes.subarray(at, at + size), false))
    at += size
  }
  found.push(cutter.push(bytes.subarray(at), true))
  return {
    cells: found.flatMap(({ records }) => records.map(({ cells }) => cells)),
    lines: found.flatMap(({ records }) => records.map(({ line }) => line)),
    broken: found.flatMap(({ broken }) => broken),
  }
}

test('lines without a quote come out as the CSV parser cuts them, however the file is cut into pieces', () => {
  fc.assert(
    fc.property(
      fc.record({
        rows: fc.array(fc.tuple(cell, end), { maxLength: 12 }),
        last: cell,
        delimiter: fc.constantFrom(',', ';', '\t', '|'),
        sizes: fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 12 }),
      }),
      ({ rows, last, delimiter, sizes }) => {
        const text = rows.map(([row, ending]) => row + ending).join('') + last
        const expected: string[][] = parse(text, {
          delimiter,
          relax_column_count: true,
          record_delimiter: ['\r\n', '\n', '\r'],
        })
        const { cells, lines, broken } = cut(text, delimiter, sizes)
        expect(cells).toEqual(expected)
        expect(lines).toEqual(expected.map((_, index) => index + 1))
        expect(broken).toEqual([])
      },
    ),
    { numRuns: 500 },
  )
})

test('a piece with a quote and a piece without one give the same cells', () => {
  const plain = cut('a,b\nc,d\n', ',', [])
  const quoted = cut('"a",b\nc,d\n', ',', [])
  expect(quoted).toEqual(plain)
})

test.each(['', '\n', '\r\n'])(
  'cells that are wrapped count their lines when the file ends with %j',
  (ending) => {
    const { cells, lines } = cut(`"Report\nof x"\n\nkeyword,"a\r\nb"\nfoo,1${ending}`, ',', [])
    expect(cells).toEqual([['Report\nof x'], [''], ['keyword', 'a\r\nb'], ['foo', '1']])
    expect(lines).toEqual([1, 3, 4, 6])
  },
)

const quoted = fc
  .string({ unit: fc.constantFrom(...' abä,;"\n'), maxLength: 6 })
  .map((text) => `"${text.replaceAll('"', '""')}"`)

test('each record keeps its own text, with quoted cells and behind a line that is ambiguous', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          row: fc.array(
            fc.oneof(
              quoted,
              cell.map((text) => text.replaceAll(',', '')),
            ),
            {
              minLength: 2,
              maxLength: 4,
            },
          ),
          end: fc.constantFrom('\n', '\r\n'),
        }),
        { maxLength: 8 },
      ),
      fc.boolean(),
      (rows, isAmbiguous) => {
        const texts = rows.map(({ row }) => row.join(','))
        const first = isAmbiguous ? ['"a"b\n'] : []
        const bytes = Buffer.from(
          [...first, ...rows.map(({ end: ending }, nth) => `${texts[nth]}${ending}`)].join(''),
        )
        const { records, broken } = new Cutter(',', 'list.csv').push(bytes, true)
        expect(broken).toHaveLength(first.length)
        expect(records.map(({ start, end: to }) => bytes.toString('utf8', start, to))).toEqual(
          texts,
        )
      },
    ),
    { numRuns: 500 },
  )
})
