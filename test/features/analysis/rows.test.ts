import { expect, test } from 'vitest'
import type { CellBatch, ColumnKind } from '../../../src/base/database/fetch.ts'
import { object, writeRows } from '../../../src/features/analysis/rows.ts'

async function write(
  columns: Record<string, ColumnKind>,
  rows: (string | null)[][],
  { format = 'csv', ...how }: { format?: 'csv' | 'ndjson'; raw?: boolean; bom?: boolean } = {},
): Promise<string> {
  async function* batches(): AsyncGenerator<CellBatch> {
    yield {
      columns: Object.entries(columns).map(([name, kind]) => ({ name, kind, type: 25 })),
      rows,
    }
  }
  let text = ''
  for await (const piece of writeRows(batches(), format, how)) text += piece
  return text
}

test('cells are quoted if needed, and null differs from an empty text', async () => {
  expect(
    await write({ a: 'text', b: 'text' }, [
      ['plain', 'with, comma'],
      ['a "quote"', 'two\nlines'],
      [null, ''],
    ]),
  ).toBe('a,b\nplain,"with, comma"\n"a ""quote""","two\nlines"\n,""\n')
})

test('text that a spreadsheet would evaluate is escaped, byte for byte, and numbers are unchanged', async () => {
  const formulas = ['=1+1', '+1', '-1', '@x', '\tx', '\rx', 'x=1']
  expect(
    await write(
      { a: 'text', n: 'number' },
      formulas.map((cell) => [cell, '-5']),
    ),
  ).toBe(`a,n\n'=1+1,-5\n'+1,-5\n'-1,-5\n'@x,-5\n'\tx,-5\n"'\rx",-5\nx=1,-5\n`)
})

test('raw cells are as in the database', async () => {
  expect(await write({ a: 'text' }, [['=1+1'], ["'x"]], { raw: true })).toBe("a\n=1+1\n'x\n")
})

test('a byte order mark precedes the first byte, only on request', async () => {
  expect(await write({ a: 'text' }, [['é']], { bom: true })).toBe('\ufeffa\né\n')
  expect(await write({ a: 'text' }, [['é']])).toBe('a\né\n')
})

test('numbers keep every digit', async () => {
  expect(await write({ n: 'number' }, [['9007199254740993'], ['0.5'], ['-3']])).toBe(
    'n\n9007199254740993\n0.5\n-3\n',
  )
})

test('yes and no are written as words that programs and spreadsheets know', async () => {
  expect(await write({ ours: 'boolean' }, [['t'], ['f'], [null]])).toBe('ours\ntrue\nfalse\n\n')
})

test('lines of JSON are as the database wrote them, one per row', async () => {
  const rows = [['{"n":1.50}'], ['{"more":{"a":1,\r\n\n"b":"x\\ny"}}']]
  expect(await write({ line: 'text' }, rows, { format: 'ndjson' })).toBe(
    '{"n":1.50}\n{"more":{"a":1, "b":"x\\ny"}}\n',
  )
})

test('a row as an object has values of their own types', () => {
  const kinds = ['number', 'number', 'boolean', 'instant', 'json', 'text'] as const
  const row = ['1.5', '9007199254740993', 't', '2026-01-01 01:00:00+00', '{"a":[1]}', null]
  const columns = kinds.map((kind, index) => ({ name: `c${index}`, kind, type: 25 }))
  expect(object(row, columns)).toEqual({
    c0: 1.5,
    c1: '9007199254740993',
    c2: true,
    c3: '2026-01-01T01:00:00.000Z',
    c4: { a: [1] },
    c5: null,
  })
})

test('an answer without rows still has its header', async () => {
  expect(await write({ a: 'text', b: 'text' }, [])).toBe('a,b\n')
  expect(['csv', 'ndjson'] as const).toEqual(['csv', 'ndjson'])
})
