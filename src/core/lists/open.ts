// Opens a list as bytes, whatever its container format.

import { Misuse } from '../../base/errors.ts'
import { readJsonLines } from './json-lines.ts'
import { isOds, odsSheets } from './ods.ts'
import type { ReadOptions } from './options.ts'
import { sheetLines } from './sheet.ts'
import { openFile, openStream, peek, type Source } from './source.ts'
import { chooseAll, chooseTable, namedTable, namesOf, type Table } from './tables.ts'
import { xlsxSheets } from './xlsx.ts'
import { type Archive, gunzipped, openArchive } from './zip.ts'

export { meansEvery } from './tables.ts'

type ListBytes =
  | { readonly kind: 'file'; readonly path: string; readonly shown: string }
  | { readonly kind: 'stream'; readonly stream: AsyncIterable<unknown> }

/** Opens a list, whatever its container format. */
export async function openSource(from: ListBytes, options: ReadOptions): Promise<Source> {
  const bare =
    from.kind === 'file' ? await openFile(from.path, from.shown) : openStream(from.stream)
  try {
    const unwrapped = await unwrap(bare)
    if (unwrapped !== null) return await asLines(unwrapped, options)
    if (from.kind === 'file') return await openInside(bare, from.path, options)
    throw new Misuse(
      'expected text on standard input, got an archive or a spreadsheet; save it as a file and name that',
    )
  } catch (error) {
    await bare.close()
    throw error
  }
}

/** Lines that flags divide or leave out are read as they are. */
function asLines(source: Source, { delimiter, skip }: ReadOptions): Source | Promise<Source> {
  return delimiter === undefined && skip === undefined ? readJsonLines(source) : source
}

/** Unpacks a compressed list; null for an archive, which holds several. */
async function unwrap(source: Source): Promise<Source | null> {
  const { head, all } = await peek(source.chunks, headSize)
  const plain = { ...source, chunks: all }
  const wrapping = wrappingOf(head, source.shown)
  if (wrapping === 'none') return plain
  if (wrapping === 'zip') return null
  const unpacked = gunzipped(plain)
  const inner = await peek(unpacked.chunks, headSize)
  if (wrappingOf(inner.head, source.shown) === 'none') return { ...unpacked, chunks: inner.all }
  throw packedTwice(source.shown)
}

function packedTwice(shown: string): Misuse {
  return new Misuse(
    `expected a list of queries in ${shown}, got an archive or a spreadsheet inside another; unpack it first`,
  )
}

/** Returns the named table of a spreadsheet or archive, or the only one with queries. */
async function openInside(bare: Source, path: string, options: ReadOptions): Promise<Source> {
  const { shown } = bare
  const archive = await openArchive(path, shown)
  try {
    const tables = await tablesOf(archive, shown)
    const { sheet } = options
    const opened = openerOf(bare, options)
    const table =
      sheet === undefined
        ? await chooseTable(tables, shown, { opened, options })
        : namedTable(tables, shown, sheet)
    return {
      ...(await opened(table)),
      notices: sheet === undefined ? leftOut(tables, [table]) : [],
      close: async () => {
        archive.close()
        await bare.close()
      },
    }
  } catch (error) {
    archive.close()
    throw error
  }
}

/** Tables of a file, each to be a list of its own; `sheet` is undefined for a file that holds one list. */
export interface FileTables {
  readonly sheets: readonly (string | undefined)[]
  readonly notices: readonly string[]
}

/** Returns all tables of a spreadsheet or archive that may be meant. */
export async function everyTableOf(
  { path, shown }: { readonly path: string; readonly shown: string },
  options: ReadOptions,
): Promise<FileTables> {
  const bare = await openFile(path, shown)
  try {
    if ((await unwrap(bare)) !== null) return { sheets: [undefined], notices: [] }
    const archive = await openArchive(path, shown)
    try {
      const tables = await tablesOf(archive, shown)
      const chosen = await chooseAll(tables, shown, { opened: openerOf(bare, options), options })
      return { sheets: chosen.map(({ name }) => name), notices: leftOut(tables, chosen) }
    } finally {
      archive.close()
    }
  } finally {
    await bare.close()
  }
}

function openerOf(bare: Source, options: ReadOptions): (table: Table) => Promise<Source> {
  return async (table) => {
    const source = sourceOf(bare, table)
    const unwrapped = await unwrap(source)
    if (unwrapped === null) throw packedTwice(source.shown)
    return asLines(unwrapped, options)
  }
}

function leftOut(tables: readonly Table[], chosen: readonly Table[]): readonly string[] {
  const left = tables.filter((table) => !chosen.includes(table))
  return left.length === 0 ? [] : [`left out ${namesOf(left)}; name a table with --sheet`]
}

function sourceOf(bare: Source, { name, size, chunks, hiddenRows }: Table): Source {
  let taken = 0
  async function* metered(): AsyncGenerator<Buffer> {
    for await (const chunk of chunks()) {
      taken += chunk.length
      yield chunk
    }
  }
  const shown = `${bare.shown} (${name})`
  return {
    ...bare,
    shown,
    file: bare.shown,
    sheet: name,
    chunks: metered(),
    size,
    taken: () => taken,
    hiddenRows,
  }
}

async function tablesOf(archive: Archive, shown: string): Promise<readonly Table[]> {
  const { names, sizeOf, read } = archive
  const isBook = names.includes('xl/workbook.xml')
  if (isBook || (await isOds(archive))) {
    const sheets = await (isBook ? xlsxSheets : odsSheets)(archive, shown)
    return sheets.map((sheet) => {
      const hiddenRows = new Set<number>()
      const chunks = () => sheetLines(archive, sheet, { shown, hiddenRows })
      const { name, hidden, part } = sheet
      return { name, hidden, kind: 'list', size: sizeOf(part), chunks, hiddenRows }
    })
  }
  if (names.includes('[Content_Types].xml') || names.includes('mimetype')) {
    throw new Misuse(
      `expected a list of queries in ${shown}, got a document or a spreadsheet of another kind; save its table as .xlsx or CSV`,
    )
  }
  return names
    .filter((name) => !noise.test(name))
    .map((name) => ({
      name,
      hidden: /(?:^|\/)\./.test(name),
      kind: list.test(name) ? 'list' : document.test(name) ? 'document' : 'unknown',
      size: sizeOf(name),
      chunks: () => read(name),
    }))
}

/** Files that operating systems add to archives. */
const noise = /(?:^|\/)(?:__MACOSX\/|\._|\.DS_Store$|Thumbs\.db$|desktop\.ini$)/i
const list = /\.(?:csv|tsv|tab|txt|jsonl|ndjson)$/i
const document =
  /(?:^|\/)(?:licen[cs]e|notice|readme|changelog)(?:\.\w+)?$|\.(?:md|rst|pdf|docx?|odt|rtf|pptx?|png|jpe?g|gif|svg|webp|ico|css|js|py)$/i

// A tar archive is known by bytes further down than the others.
const headSize = 512

type Wrapping = 'none' | 'gzip' | 'zip'

interface Kind {
  /** The bytes by which it is known, and where they are if not at the start. */
  readonly bytes: string
  readonly at?: number
  readonly name: string
  readonly advice: string
}

const kinds: readonly Kind[] = [
  {
    bytes: 'd0cf11e0a1b11ae1',
    name: 'an old spreadsheet (.xls)',
    advice: 'save it as .xlsx or CSV',
  },
  { bytes: '25504446', name: 'a PDF', advice: 'export its table as CSV' },
  { bytes: '377abcaf271c', name: 'a 7-Zip archive', advice: 'unpack it first' },
  { bytes: '526172211a07', name: 'a RAR archive', advice: 'unpack it first' },
  { bytes: '425a68', name: 'a bzip2 file', advice: 'unpack it first: bunzip2 FILE' },
  { bytes: 'fd377a585a00', name: 'an xz file', advice: 'unpack it first: unxz FILE' },
  { bytes: '28b52ffd', name: 'a zstd file', advice: 'unpack it first: unzstd FILE' },
  { bytes: '89504e47', name: 'a picture', advice: 'export its table as CSV' },
  { bytes: 'ffd8ff', name: 'a picture', advice: 'export its table as CSV' },
  { bytes: '47494638', name: 'a picture', advice: 'export its table as CSV' },
  { bytes: '50415231', name: 'a Parquet file', advice: 'write its queries as CSV' },
  { bytes: '53514c69746520', name: 'an SQLite database', advice: 'write its queries as CSV' },
  { bytes: '7573746172', at: 257, name: 'a tar archive', advice: 'unpack it first: tar xf FILE' },
  { bytes: '7f454c46', name: 'a program', advice: 'name a list of queries' },
]

/** Detects the container format; unreadable formats are rejected by name. */
function wrappingOf(head: Buffer, shown: string): Wrapping {
  const start = head.toString('hex', 0, 16)
  if (start.startsWith('1f8b')) return 'gzip'
  if (start.startsWith('504b0304') || start.startsWith('504b0506')) return 'zip'
  const kind = kinds.find(({ bytes, at = 0 }) => head.toString('hex', at).startsWith(bytes))
  if (kind === undefined) return 'none'
  throw new Misuse(`expected a list of queries in ${shown}, got ${kind.name}; ${kind.advice}`)
}
