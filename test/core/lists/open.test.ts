// @module-tag slow
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nameOfList } from '../../../src/core/lists/files.ts'
import { openSource } from '../../../src/core/lists/open.ts'
import { openList, type ReadOptions } from '../../../src/core/lists/read.ts'
import { xlsxOf, zipOf } from './archives.ts'
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
    ['an archive', zipOf({ 'Queries.csv': csv }), 'an archive or a spreadsheet inside another'],
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
      'expected list.bin to be a whole compressed file, got one that ends early or is damaged',
    )
  })

  test('that swells without end is refused', async () => {
    const bomb = gzipSync(
      Buffer.concat([Buffer.from('q,gl\n'), Buffer.alloc(80_000_000, `${'a'.repeat(1500)},us\n`)]),
    )
    await expect(texts(bomb)).rejects.toThrow('swells to more than 250 times its size')
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
    ).rejects.toThrow('got "Countries.csv", "Dates.csv"; name one with --sheet')
  })

  test('has the file read whose whole name is given, although others end with it', async () => {
    const files = { 'a/One.csv': csv, 'One.csv': 'q\nboots\n', 'b/two.csv': csv, 'c/two.csv': csv }
    expect(await texts(zipOf(files), { sheet: 'One.csv' })).toEqual([[2, 'boots']])
    expect(await texts(zipOf(files), { sheet: 'a/one.csv' })).toEqual(read)
    await expect(texts(zipOf(files), { sheet: 'two.csv' })).rejects.toThrow(
      'got "b/two.csv", "c/two.csv"; type --sheet with the whole name of one',
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
      'got one.csv twice',
    ],
    [
      'with a path outside',
      zipOf({ '../Queries.csv': csv }),
      'cannot be read: invalid relative path',
    ],
    [
      'that is cut',
      zipOf({ 'Queries.csv': csv }).subarray(0, 60),
      'expected list.bin to be a whole archive',
    ],
    ['without a table', zipOf({ 'a.json': '{}' }), 'expected a table in list.bin, got none'],
    ['of a document', zipOf({ '[Content_Types].xml': '', 'word/document.xml': '' }), 'a document'],
    ['that swells', zipOf({ 'Queries.csv': Buffer.alloc(90_000_000, 'a\n') }), 'swells'],
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
    await expect(texts(xlsxOf({ Terms: '<row><c>' }, []))).rejects.toThrow('a whole spreadsheet')
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
