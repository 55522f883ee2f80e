import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { type CellBatch, kindOfCell } from '../../../src/base/database/fetch.ts'
import { sheetLines } from '../../../src/core/lists/sheet.ts'
import { xlsxSheets } from '../../../src/core/lists/xlsx.ts'
import { openArchive } from '../../../src/core/lists/zip.ts'
import { writeWorkbook } from '../../../src/features/analysis/workbook.ts'
import { has, python } from '../../support/parts.ts'
import { temporaryFolder } from '../../support/place.ts'

const folder = temporaryFolder('workbook')
const path = join(folder, 'written.xlsx')
const types = { bool: 16, int8: 20, int4: 23, text: 25, float8: 701, date: 1082, time: 1184 }

async function* batchesOf(
  columns: Readonly<Record<string, number>>,
  ...batches: (string | null)[][][]
): AsyncGenerator<CellBatch> {
  const described = Object.entries(columns).map(([name, type]) => ({
    name,
    type,
    kind: kindOfCell(type),
  }))
  for (const rows of batches) yield { columns: described, rows }
}

/** The workbook as the reader of lists reads it, and the XML of its first sheet. */
async function written(batches: AsyncIterable<CellBatch>) {
  const warnings: string[] = []
  const pieces: Uint8Array[] = []
  for await (const piece of writeWorkbook(batches, (line) => warnings.push(line))) {
    pieces.push(piece)
  }
  writeFileSync(path, Buffer.concat(pieces))
  const archive = await openArchive(path, 'written.xlsx')
  try {
    const [sheet] = await xlsxSheets(archive)
    if (sheet === undefined) throw new Error('expected a sheet, got none')
    const lines = await text(sheetLines(archive, sheet, new Set()))
    const xml = await text(archive.read('xl/worksheets/sheet1.xml'))
    return { lines: lines.trimEnd().split('\n'), xml, warnings }
  } finally {
    archive.close()
  }
}

describe('a workbook', () => {
  test('has numbers as numbers, days and times as dates, and everything else as text', async () => {
    const columns = {
      n: types.int4,
      share: types.float8,
      day: types.date,
      at: types.time,
      yes: types.bool,
      q: types.text,
    }
    const { lines, xml } = await written(
      batchesOf(
        columns,
        [['1', '0.25', '2026-03-01', '2026-03-01 01:30:00+02', 't', 'käse']],
        [['-2', null, null, '2026-12-31 23:59:59.5+00', 'f', '']],
      ),
    )
    expect(lines).toEqual([
      'n,share,day,at,yes,q',
      '1,0.25,2026-03-01T00:00:00,2026-02-28T23:30:00,TRUE,käse',
      '-2,,,2026-12-31T23:59:59,FALSE,',
    ])
    expect(xml).toContain(
      '<c r="A2"><v>1</v></c><c r="B2"><v>0.25</v></c><c r="C2" s="1"><v>46082</v></c>',
    )
  })

  test('never has a formula, in cells or in the header', async () => {
    const texts = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '=HYPERLINK("https://example.com")']
    const { lines, xml } = await written(
      batchesOf(
        { '=cmd()': types.text },
        texts.map((one) => [one]),
      ),
    )
    expect(lines).toHaveLength(1 + texts.length)
    expect(lines.slice(0, 3)).toEqual(['=cmd()', '=1+1', '+1'])
    expect(xml).not.toMatch(/<f[ >]/)
    expect(xml.match(/t="inlineStr"/g)).toHaveLength(1 + texts.length)
  })

  test('keeps as text what a spreadsheet would change', async () => {
    const columns = {
      big: types.int8,
      share: types.float8,
      at: types.time,
      day: types.date,
      q: types.text,
    }
    const kept = ['9007199254740993', 'NaN', 'infinity', '0044-03-15 BC', '_x0041_ \u000bend']
    const { lines } = await written(batchesOf(columns, [kept]))
    expect(lines[1]).toBe('9007199254740993,NaN,infinity,0044-03-15 BC,_x0041_ end')
  })

  test('says how many texts were too long for a cell', async () => {
    const long = 'x'.repeat(40_000)
    const { lines, warnings } = await written(
      batchesOf({ q: types.text }, [[long], ['short'], ['x'.repeat(32_767)]]),
    )
    expect(lines.map(({ length }) => length)).toEqual([1, 32_767, 5, 32_767])
    expect(lines[1]?.endsWith('x…')).toBe(true)
    expect(warnings).toEqual([
      expect.stringMatching(/^1 text shortened to the cell limit of 32,767 characters/),
    ])
  })

  test('of no rows has its header', async () => {
    expect((await written(batchesOf({ n: types.int4, q: types.text }, []))).lines).toEqual(['n,q'])
  })

  test('ends with the error of its rows', async () => {
    const lost = new Error('the connection is lost')
    async function* breaking(): AsyncGenerator<CellBatch> {
      yield* batchesOf({ n: types.int4 }, [['1']])
      throw lost
    }
    await expect(written(breaking())).rejects.toBe(lost)
  })
})

test.skipIf(!has('openpyxl'))('a workbook has its types in openpyxl as well', async () => {
  const columns = { n: types.int4, at: types.time, yes: types.bool, q: types.text }
  await written(batchesOf(columns, [['1', '2026-03-01 01:30:00+02', 't', '=1+1']]))
  const program = `
import openpyxl
sheet = openpyxl.load_workbook(${JSON.stringify(path)}).active
print([(cell.data_type, str(cell.value)) for cell in sheet[2]])`
  const { stdout, stderr } = spawnSync(python, ['-c', program], { encoding: 'utf8' })
  expect([stdout, stderr]).toEqual([
    "[('n', '1'), ('d', '2026-02-28 23:30:00'), ('b', 'True'), ('s', '=1+1')]\n",
    '',
  ])
})
