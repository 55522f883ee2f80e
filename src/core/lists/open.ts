// Opens a list as bytes, from a plain file, a compressed file, a spreadsheet or an archive.

import { Misuse } from '../../base/errors.ts'
import { readJsonLines } from './json-lines.ts'
import { isOds, odsSheets } from './ods.ts'
import type { ReadOptions } from './options.ts'
import { sheetLines } from './sheet.ts'
import { openFile, openStream, peek, type Source } from './source.ts'
import { chooseTables, namesOf, type Table } from './tables.ts'
import { xlsxSheets } from './xlsx.ts'
import { type Archive, gunzipped, openArchive } from './zip.ts'

export { meansEvery } from './tables.ts'

export type ListBytes =
  | { readonly kind: 'file'; readonly path: string; readonly shown: string }
  | { readonly kind: 'stream'; readonly stream: AsyncIterable<unknown> }

export async function openSource(from: ListBytes, options: ReadOptions): Promise<Source> {
  return (await openTables(from, options, false)).source
}

/** Returns the names of the tables that may be lists or, for a file with a single list, one undefined name. */
export async function everyTableOf(from: ListBytes, options: ReadOptions) {
  const { source, sheets, notices } = await openTables(from, options, true)
  await source.close()
  return { sheets, notices }
}

/** Opens a list, or the first chosen table in a spreadsheet or archive. `every` allows several tables. */
async function openTables(from: ListBytes, options: ReadOptions, every: boolean) {
  const bare =
    from.kind === 'file' ? await openFile(from.path, from.shown) : openStream(from.stream)
  let archive: Archive | null = null
  const close = (): Promise<void> => {
    archive?.close()
    return bare.close()
  }
  try {
    const text = await unwrap(bare, options)
    if (text !== null) return { source: text, sheets: [undefined], notices: [] }
    if (from.kind === 'stream') {
      throw new Misuse(
        'expected text on standard input, got an archive or a spreadsheet; save it to a file and pass the file name',
      )
    }
    archive = await openArchive(from.path, from.shown)
    const opened = async ({ name: sheet, chunks, hiddenRows }: Table): Promise<Source> => {
      const shown = `${from.shown} (${sheet})`
      const part = { sheet, chunks: chunks(), hiddenRows, file: from.shown, shown }
      const inner = await unwrap({ ...bare, ...part }, options)
      if (inner === null) throw packedTwice(shown)
      return inner
    }
    const tables = await tablesOf(archive)
    const chosen = await chooseTables(tables, from.shown, { opened, options, every })
    const left = tables.filter((table) => !chosen.includes(table))
    const isSaid = left.length > 0 && options.sheet === undefined
    const notices = isSaid ? [`tables not read: ${namesOf(left)}; choose one with --sheet`] : []
    const source = { ...(await opened(chosen[0])), notices, close }
    return { source, sheets: chosen.map(({ name }) => name), notices }
  } catch (error) {
    await close()
    throw error
  }
}

/** Unpacks gzip, and converts JSON lines to CSV. Returns null for a spreadsheet or an archive. */
async function unwrap(source: Source, { delimiter }: ReadOptions): Promise<Source | null> {
  const { head, all } = await peek(source.chunks, headSize)
  let text = { ...source, chunks: all }
  const wrapping = wrappingOf(head, source.shown)
  if (wrapping === 'zip') return null
  if (wrapping === 'gzip') {
    const inner = await peek(gunzipped(text), headSize)
    if (wrappingOf(inner.head, source.shown) !== 'none') throw packedTwice(source.shown)
    text = { ...text, chunks: inner.all }
  }
  // If a flag sets the delimiter, JSON lines are not converted.
  return delimiter === undefined ? readJsonLines(text) : text
}

function packedTwice(shown: string): Misuse {
  return new Misuse(
    `expected a list of queries in ${shown}, got an archive or a spreadsheet inside another archive; unpack it first`,
  )
}

async function tablesOf(archive: Archive): Promise<readonly Table[]> {
  const { shown, names, read } = archive
  const isBook = names.includes('xl/workbook.xml')
  if (isBook || (await isOds(archive))) {
    const sheets = await (isBook ? xlsxSheets : odsSheets)(archive)
    return sheets.map((sheet) => {
      const hiddenRows = new Set<number>()
      const chunks = () => sheetLines(archive, sheet, hiddenRows)
      return { name: sheet.name, hidden: sheet.hidden, kind: 'list', chunks, hiddenRows }
    })
  }
  if (names.includes('[Content_Types].xml') || names.includes('mimetype')) {
    throw new Misuse(
      `expected a list of queries in ${shown}, got a document or an unsupported spreadsheet; save its table as .xlsx or CSV`,
    )
  }
  return names
    .filter((name) => !noise.test(name))
    .map((name) => ({
      name,
      hidden: /(?:^|\/)\./.test(name),
      kind: list.test(name) ? 'list' : document.test(name) ? 'document' : 'unknown',
      chunks: () => read(name),
    }))
}

// Files that operating systems add to archives.
const noise = /(?:^|\/)(?:__MACOSX\/|\._|\.DS_Store$|Thumbs\.db$|desktop\.ini$)/i
const list = /\.(?:csv|tsv|tab|txt|jsonl|ndjson)$/i
const document =
  /(?:^|\/)(?:licen[cs]e|notice|readme|changelog)(?:\.\w+)?$|\.(?:md|rst|pdf|docx?|odt|rtf|pptx?|png|jpe?g|gif|svg|webp|ico|css|js|py)$/i

// The signature of a tar archive lies further into the file than the signatures of the other formats.
const headSize = 512

/** Unsupported formats, each identified by bytes at an offset, by default at the start of the file. */
const unread: readonly (readonly [bytes: string, name: string, advice: string, at?: number])[] = [
  ['d0cf11e0a1b11ae1', 'an old spreadsheet (.xls)', 'save it as .xlsx or CSV'],
  ['25504446', 'a PDF', 'export its table as CSV'],
  ['377abcaf271c', 'a 7-Zip archive', 'unpack it first'],
  ['526172211a07', 'a RAR archive', 'unpack it first'],
  ['425a68', 'a bzip2 file', 'unpack it first: bunzip2 FILE'],
  ['fd377a585a00', 'an xz file', 'unpack it first: unxz FILE'],
  ['28b52ffd', 'a zstd file', 'unpack it first: unzstd FILE'],
  ['89504e47', 'a picture', 'export its table as CSV'],
  ['ffd8ff', 'a picture', 'export its table as CSV'],
  ['47494638', 'a picture', 'export its table as CSV'],
  ['50415231', 'a Parquet file', 'export its queries as CSV'],
  ['53514c69746520', 'an SQLite database', 'export its queries as CSV'],
  ['7573746172', 'a tar archive', 'unpack it first: tar xf FILE', 257],
  ['7f454c46', 'a program', 'choose a list of queries'],
]

function wrappingOf(head: Buffer, shown: string): 'none' | 'gzip' | 'zip' {
  const start = head.toString('hex', 0, 16)
  if (start.startsWith('1f8b')) return 'gzip'
  if (start.startsWith('504b0304') || start.startsWith('504b0506')) return 'zip'
  const found = unread.find(([bytes, , , at = 0]) => head.toString('hex', at).startsWith(bytes))
  if (found === undefined) return 'none'
  const [, name, advice] = found
  throw new Misuse(`expected a list of queries in ${shown}, got ${name}; ${advice}`)
}
