// Opens a list as bytes, whatever its container format.

import { Misuse } from '../../base/errors.ts'
import type { ReadOptions } from './reader.ts'
import { openFile, openStream, peek, type Source } from './source.ts'
import { chooseTable, namesOf, type Table } from './tables.ts'
import { dateStyles, sharedTexts, sheetLines, sheetsOf } from './xlsx.ts'
import { type Archive, gunzipped, openArchive } from './zip.ts'

type ListBytes =
  | { readonly kind: 'file'; readonly path: string; readonly shown: string }
  | { readonly kind: 'stream'; readonly stream: AsyncIterable<unknown> }

/** Opens a list, whatever its container format. */
export async function openSource(from: ListBytes, options: ReadOptions): Promise<Source> {
  const bare =
    from.kind === 'file' ? await openFile(from.path, from.shown) : openStream(from.stream)
  try {
    const { head, all } = await peek(bare.chunks, 1)
    const source = { ...bare, chunks: all }
    const wrapping = wrappingOf(head, bare.shown)
    if (wrapping === 'none') return source
    if (wrapping === 'gzip') return gunzipped(source)
    if (from.kind === 'file') return await openInside(bare, from.path, options)
    throw new Misuse(
      'expected text on standard input, got an archive or a spreadsheet; save it as a file and name that',
    )
  } catch (error) {
    await bare.close()
    throw error
  }
}

/** Returns the named table of a spreadsheet or archive, or the only one with queries. */
async function openInside(bare: Source, path: string, options: ReadOptions): Promise<Source> {
  const { shown } = bare
  const archive = await openArchive(path, shown)
  try {
    const tables = await tablesOf(archive, shown)
    const { sheet } = options
    const wanted = tables.filter(({ name, hidden }) =>
      sheet === undefined ? !hidden : isNamed(name, sheet),
    )
    const [first] = wanted
    if (first === undefined) throw noTable(tables, { shown, sheet })
    const opened = (table: Table): Source => sourceOf(bare, table)
    const table =
      wanted.length === 1 ? first : await chooseTable(wanted, shown, { opened, options })
    const left = sheet === undefined ? tables.filter((other) => other !== table) : []
    return {
      ...sourceOf(bare, table),
      notices: left.length === 0 ? [] : [`left out ${namesOf(left)}; name a table with --sheet`],
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

function isNamed(name: string, wanted: string): boolean {
  const [one, other] = [name, wanted].map((text) => text.normalize('NFC').toLowerCase().trim())
  return one === other || name.slice(name.lastIndexOf('/') + 1).toLowerCase() === other
}

async function tablesOf(archive: Archive, shown: string): Promise<readonly Table[]> {
  const { names, sizeOf, read } = archive
  if (names.includes('xl/workbook.xml')) {
    const sheets = await sheetsOf(archive, shown)
    const texts = await sharedTexts(archive, shown)
    const dates = await dateStyles(archive, shown)
    return sheets.map(({ name, part, hidden }) => {
      const hiddenRows = new Set<number>()
      const book = { texts, dates, hiddenRows }
      const chunks = () => sheetLines(archive, { part, shown }, book)
      return { name, hidden, size: sizeOf(part), chunks, hiddenRows }
    })
  }
  if (names.includes('[Content_Types].xml') || names.includes('mimetype')) {
    throw new Misuse(
      `expected a list of queries in ${shown}, got a document or a spreadsheet of another kind; save its table as .xlsx or CSV`,
    )
  }
  return names
    .filter((name) => /\.(?:csv|tsv|txt)$/i.test(name) && !/(?:^|\/)(?:\.|__MACOSX)/.test(name))
    .map((name) => ({ name, hidden: false, size: sizeOf(name), chunks: () => read(name) }))
}

function noTable(
  tables: readonly Table[],
  { shown, sheet }: { shown: string; sheet: string | undefined },
): Misuse {
  const expected = sheet === undefined ? 'a table' : `a table ${JSON.stringify(sheet)}`
  const got = tables.length === 0 ? 'none' : namesOf(tables)
  return new Misuse(`expected ${expected} in ${shown}, got ${got}; name one with --sheet`)
}

type Wrapping = 'none' | 'gzip' | 'zip'

const kinds: readonly { readonly start: string; readonly name: string; readonly advice: string }[] =
  [
    {
      start: 'd0cf11e0a1b11ae1',
      name: 'an old spreadsheet (.xls)',
      advice: 'save it as .xlsx or CSV',
    },
    { start: '25504446', name: 'a PDF', advice: 'export its table as CSV' },
    { start: '377abcaf271c', name: 'a 7-Zip archive', advice: 'unpack it first' },
    { start: '526172211a07', name: 'a RAR archive', advice: 'unpack it first' },
    { start: '425a68', name: 'a bzip2 file', advice: 'unpack it first: bunzip2 FILE' },
    { start: 'fd377a585a00', name: 'an xz file', advice: 'unpack it first: unxz FILE' },
    { start: '28b52ffd', name: 'a zstd file', advice: 'unpack it first: unzstd FILE' },
    { start: '89504e47', name: 'a picture', advice: 'export its table as CSV' },
    { start: 'ffd8ff', name: 'a picture', advice: 'export its table as CSV' },
    { start: '47494638', name: 'a picture', advice: 'export its table as CSV' },
    { start: '50415231', name: 'a Parquet file', advice: 'write its queries as CSV' },
    { start: '53514c69746520', name: 'an SQLite database', advice: 'write its queries as CSV' },
    { start: '7f454c46', name: 'a program', advice: 'name a list of queries' },
  ]

/** Detects the container format; unreadable formats are rejected by name. */
function wrappingOf(head: Buffer, shown: string): Wrapping {
  const start = head.toString('hex', 0, 16)
  if (start.startsWith('1f8b')) return 'gzip'
  if (start.startsWith('504b0304') || start.startsWith('504b0506')) return 'zip'
  const kind = kinds.find((one) => start.startsWith(one.start))
  if (kind === undefined) return 'none'
  throw new Misuse(`expected a list of queries in ${shown}, got ${kind.name}; ${kind.advice}`)
}
