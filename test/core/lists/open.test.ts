// @module-tag slow
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nameOfList } from '../../../src/core/lists/files.ts'
import { openSource } from '../../../src/core/lists/open.ts'
import type { ReadOptions } from '../../../src/core/lists/options.ts'
import { openList } from '../../../src/core/lists/read.ts'
import { odsOf, xlsxOf, zipOf } from './archives.ts'
import { options } from './support.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'open-'))
})

afterAll(async () => rm(folder, { recursive: true }))

async function texts(
  bytes: Buffer,
  more: Partial<ReadOptions> = {},
): Promise<readonly (readonly [number, string])[]> {
  const path = join(folder, 'list.bin')
  await writeFile(path, bytes)
  const wishes = { ...options, ...more }
  const source = await openSource({ kind: 'file', path, shown: 'list.bin' }, wishes)
  try {
    const found: [number, string][] = []
    for await (const { queries } of (await openList(source, wishes)).pieces) {
      for (const { line, query } of queries) found.push([line, query.q])
    }
    return found
  } finally {
    await source.close()
  }
}

const csv = 'Top queries,Clicks\nred shoes,3\n"hats, wool",2\n'
const read = [
  [2, 'red shoes'],
  [3, 'hats, wool'],
]

describe('a compressed list', () => {
  test('is read as what is in it, and named without its second ending', async () => {
    expect(await texts(gzipSync(csv))).toEqual(read)
    expect(nameOfList('/a/queries.csv.gz')).toBe('queries')
  })

  test.each([
    [
      'an archive',
      zipOf({ 'Queries.csv': csv }),
      'an archive or a spreadsheet inside another archive',
    ],
    [
      'a tar archive',
      Buffer.from(`${'a.csv'.padEnd(257, '\0')}ustar  \0\n${csv}`),
      'a tar archive',
    ],
  ])('that holds %s is refused', async (_, bytes, reason) => {
    await expect(texts(gzipSync(bytes))).rejects.toThrow(`in list.bin, got ${reason}`)
  })

  test('that ends early is refused', async () => {
    const whole = gzipSync(csv.repeat(50))
    await expect(texts(whole.subarray(0, whole.length - 20))).rejects.toThrow(
      'expected list.bin to be an intact compressed file, got a truncated or damaged one',
    )
  })

  test('that swells without end is refused', async () => {
    const bomb = gzipSync(
      Buffer.concat([Buffer.from('q,gl\n'), Buffer.alloc(80_000_000, `${'a'.repeat(1500)},us\n`)]),
    )
    await expect(texts(bomb)).rejects.toThrow('expands to more than 250 times its size')
  })
})

describe('an archive', () => {
  test('has its one file with queries read, whatever lies beside it', async () => {
    const files = {
      'Countries.csv': 'Country,Clicks\nFrance,1\n',
      'Queries.csv': csv,
      'a.json': '{}',
    }
    expect(await texts(zipOf(files))).toEqual(read)
    await expect(texts(zipOf({ 'Countries.csv': files['Countries.csv'] }))).rejects.toThrow(
      'list.bin (Countries.csv)',
    )
    await expect(
      texts(
        zipOf({ 'Countries.csv': 'Country,Clicks\nFrance,1\n', 'Dates.csv': 'Date,Clicks\n1,2\n' }),
      ),
    ).rejects.toThrow('got "Countries.csv", "Dates.csv"; choose a table with --sheet')
  })

  test('has the file read whose whole name is given, although others end with it', async () => {
    const files = { 'a/One.csv': csv, 'One.csv': 'q\nboots\n', 'b/two.csv': csv, 'c/two.csv': csv }
    expect(await texts(zipOf(files), { sheet: 'One.csv' })).toEqual([[2, 'boots']])
    expect(await texts(zipOf(files), { sheet: 'a/one.csv' })).toEqual(read)
    await expect(texts(zipOf(files), { sheet: 'two.csv' })).rejects.toThrow(
      '"b/two.csv", "c/two.csv"; use --sheet with the full name of a table',
    )
  })

  test('has the file read that is named', async () => {
    const files = { 'a/One.csv': csv, 'Two.csv': 'q\nboots\n' }
    expect(await texts(zipOf(files), { sheet: 'two.csv' })).toEqual([[2, 'boots']])
    expect(await texts(zipOf(files), { sheet: 'One.csv' })).toEqual(read)
    await expect(texts(zipOf(files), { sheet: 'Three' })).rejects.toThrow(
      'expected a table "Three"',
    )
  })

  test.each([
    [
      'with two files of one name',
      Buffer.from(
        zipOf({ 'one.csv': csv, 'two.csv': csv })
          .toString('latin1')
          .replaceAll('two.csv', 'one.csv'),
        'latin1',
      ),
      'contains one.csv twice',
    ],
    [
      'with a path outside',
      zipOf({ '../Queries.csv': csv }),
      'unreadable archive: invalid relative path',
    ],
    [
      'that is cut',
      zipOf({ 'Queries.csv': csv }).subarray(0, 60),
      'expected list.bin to be an intact archive',
    ],
    [
      'without a table',
      zipOf({ 'a.json': '{}' }),
      'expected a table with a query column in list.bin, got "a.json"; choose a table with --sheet',
    ],
    ['of a document', zipOf({ '[Content_Types].xml': '', 'word/document.xml': '' }), 'a document'],
    ['that swells', zipOf({ 'Queries.csv': Buffer.alloc(90_000_000, 'a\n') }), 'expands'],
  ])('%s is refused', async (_, bytes, reason) => {
    await expect(texts(bytes)).rejects.toThrow(reason)
  })
})

describe('a spreadsheet', () => {
  const notes = '<row r="1"><c r="A1" t="inlineStr"><is><t>Notes</t></is></c></row>'
  const rows =
    '<row r="2"><c r="A2"/><c r="B2" t="s"><v>0</v></c><c r="C2" t="s"><v>1</v></c></row>' +
    '<row r="4"><c r="B4" t="s"><v>2</v></c><c r="C4"><v>12</v></c></row>' +
    '<row r="5"><c r="B5" t="str"><v>hats, &amp; "caps"</v></c></row>' +
    '<row r="6"><c r="A6"/></row>'
  const found = [
    [4, 'red shoes'],
    [5, 'hats, & "caps"'],
  ]

  test('has its first sheet with queries read, each row by its number', async () => {
    const bytes = xlsxOf({ About: notes, Terms: rows }, ['Keyword', 'Volume', 'red\nshoes'])
    expect(await texts(bytes)).toEqual(found)
    expect(await texts(bytes, { sheet: 'terms' })).toEqual(found)
  })

  test('has a sheet whose rows are missing refused, not skipped', async () => {
    const book = xlsxOf({ Terms: rows, More: rows }, ['Keyword', 'Volume', 'red shoes'])
    const cut = Buffer.from(
      book.toString('latin1').replaceAll('xl/worksheets/s0.xml', 'xl/worksheets/s9.xml'),
      'latin1',
    )
    await expect(texts(cut)).rejects.toThrow('"Terms" (not read), "More" ("Keyword", "Volume")')
    await expect(texts(cut, { sheet: 'Terms' })).rejects.toThrow('xl/worksheets/s0.xml')
  })

  test('of very many empty rows is refused as empty', async () => {
    const empty = Array.from({ length: 100_000 }, (_, at) => `<row r="${at + 1}"/>`).join('')
    await expect(texts(xlsxOf({ Terms: empty }, []))).rejects.toThrow('got an empty file')
  })

  test('that is no XML inside is refused', async () => {
    await expect(texts(xlsxOf({ Terms: '<row><c>' }, []))).rejects.toThrow('an intact spreadsheet')
  })
})

describe('an OpenDocument spreadsheet', () => {
  const text = (...paragraphs: readonly string[]) =>
    `<table:table-cell office:value-type="string">${paragraphs.map((one) => `<text:p>${one}</text:p>`).join('')}</table:table-cell>`
  const row = (...cells: readonly string[]) =>
    `<table:table-row>${cells.join('')}</table:table-row>`
  const header = row(text('Keyword'), text('Volume'))
  const count =
    '<table:table-cell office:value-type="float" office:value="1200"><text:p>1.200,00</text:p></table:table-cell>'

  test('has its rows read by their numbers, with repeated ones, and its comments and shapes left out', async () => {
    const noted =
      '<table:table-cell office:value-type="string"><office:annotation><text:p>ask Ann</text:p></office:annotation><text:p>hats,<text:s/>&amp; <text:span>"caps"</text:span></text:p></table:table-cell>'
    const rows = [
      header,
      '<table:table-row table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="2"/></table:table-row>',
      row(text('red', 'shoes'), count),
      `<table:table-row table:number-rows-repeated="2">${text('wool socks')}${count}</table:table-row>`,
      row(noted, count),
    ]
    expect(await texts(odsOf({ Terms: rows.join('') }))).toEqual([
      [4, 'red shoes'],
      [5, 'wool socks'],
      [6, 'wool socks'],
      [7, 'hats, & "caps"'],
    ])
  })

  test('with more equal rows than a list has, or no XML inside, is refused', async () => {
    const many = `${header}<table:table-row table:number-rows-repeated="9000000">${text('shoes')}</table:table-row>`
    await expect(texts(odsOf({ Terms: many }))).rejects.toThrow('got 9000000')
    await expect(texts(odsOf({ Terms: '<a>' }))).rejects.toThrow('an intact spreadsheet')
  })

  test('of another kind is refused', async () => {
    const document = zipOf({
      mimetype: 'application/vnd.oasis.opendocument.text',
      'content.xml': '',
    })
    await expect(texts(document)).rejects.toThrow('an unsupported spreadsheet')
  })
})

describe('JSON lines', () => {
  test('have their queries read by their numbers, also compressed and in an archive', async () => {
    const lines =
      '\ufeff{"id":7,"query":"red shoes"}\r\n\n{"query":"24\\" monitor,\\nblack","id":8}\n{"query":"caf\\u00e9"}'
    const queries = [
      [1, 'red shoes'],
      [3, '24" monitor, black'],
      [4, 'café'],
    ]
    expect(await texts(Buffer.from(lines))).toEqual(queries)
    expect(await texts(gzipSync(lines))).toEqual(queries)
    const strings = '"red shoes"\n"24\\" monitor"\n'
    expect(await texts(zipOf({ 'a.jsonl': strings }))).toEqual([
      [1, 'red shoes'],
      [2, '24" monitor'],
    ])
  })

  test('of many pieces keep the numbers of their lines', async () => {
    const lines = Array.from({ length: 9_000 }, (_, at) => `{"query":"shoes ${at}"}\n`)
    expect((await texts(Buffer.from(lines.join('')))).at(-1)).toEqual([9_000, 'shoes 8999'])
  })

  test('with a field that comes late are refused if it says what is asked', async () => {
    const lines = (late: string) =>
      Buffer.from(`{"query":"shoes"}\n${' \n'.repeat(70_000)}{"query":"hats","${late}":"de"}\n`)
    expect(await texts(lines('note'))).toEqual([
      [1, 'shoes'],
      [70_002, 'hats'],
    ])
    await expect(texts(lines('country'))).rejects.toThrow(
      'list.bin:70002: the first lines do not contain the field',
    )
    const known = `{"query":"shoes","country":null}\n${lines('country').toString()}`
    expect(await texts(Buffer.from(known))).toHaveLength(3)
  })

  test.each([
    ['another line', '{"query":"shoes"}\nhats\n', 'list.bin:2: expected a JSON object or string'],
    ['several queries in one', '{"query":"a"}\n{"query":["b","c"]}\n', 'text in "query", got'],
    ['a cut line', '{"query":"shoes"}\n{"query":"ha', 'list.bin:2: expected a JSON object'],
    ['no query', '{"made":"today"}\n{"made":"now"}\n', 'text that seems to be JSON'],
    [
      'two fields of queries',
      '{"query":"a","keyword":"b"}\n',
      'list.bin:1: expected one query column',
    ],
    [
      'other bytes',
      Buffer.from('{"query":"caf\u00e9"}\n', 'latin1'),
      'list.bin:1: expected UTF-8 throughout, got an invalid byte at offset 13',
    ],
    ['a line of 2 MB', `{"query":"a"}\n"${'a'.repeat(2_000_000)}`, 'list.bin:2: expected lines'],
  ])('with %s are refused', async (_, bytes, reason) => {
    await expect(texts(Buffer.from(bytes))).rejects.toThrow(reason)
  })
})

describe('a file that is no text', () => {
  test.each([
    ['%PDF-1.7 x', 'a PDF'],
    [Buffer.from('d0cf11e0a1b11ae100', 'hex'), 'an old spreadsheet'],
    [Buffer.from('89504e470d0a1a0a', 'hex'), 'a picture'],
    [Buffer.from('28b52ffd00', 'hex'), 'a zstd file'],
    [Buffer.from('PAR1'), 'a Parquet file'],
  ])('is refused by the name of what it is: %s', async (bytes, name) => {
    await expect(texts(Buffer.from(bytes))).rejects.toThrow(
      `expected a list of queries in list.bin, got ${name}`,
    )
  })
})
