import { fc } from '@fast-check/vitest'
import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { csvLines } from '../../src/base/csv.ts'

const text = fc.string({ unit: fc.constantFrom(...'ab =+-@\t\r\n",;|\'é＝'), maxLength: 5 })

test('rows come back from a CSV parser as they were written, with any delimiter', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(text, text, text), { maxLength: 5 }),
      fc.constantFrom(',', ';', '\t', '|'),
      (rows, delimiter) => {
        const lines = csvLines(rows, { raw: true, delimiter })
        expect(parse(lines, { delimiter, record_delimiter: '\n' })).toEqual(rows)
      },
    ),
    { numRuns: 300 },
  )
})

test('no text is a formula for a spreadsheet, and numbers keep their sign', () => {
  fc.assert(
    fc.property(text, (cell) => {
      const [[written] = []] = parse(csvLines([[cell]]), { record_delimiter: '\n' })
      expect(written ?? '').toBe(/^[=+\-@\t\r＝]/.test(cell) ? `'${cell}` : cell)
    }),
  )
  expect(csvLines([[-1.5, -2n, '-3', true, new Date(0), null, '']])).toBe(
    "-1.5,-2,'-3,true,1970-01-01T00:00:00.000Z,,\n",
  )
  expect(csvLines([[null, '']], { quoteEmpty: true })).toBe(',""\n')
})
