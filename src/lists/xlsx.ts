import { StringDecoder } from 'node:string_decoder'
import { SaxesParser } from 'saxes'
import { Misuse, reasonOf } from '../shared/errors.ts'
import { SheetRows, type XmlReader } from './sheet-rows.ts'
import type { Archive } from './zip.ts'

/** A table of a spreadsheet, and the file of the archive that holds it. */
export interface Sheet {
  readonly name: string
  readonly part: string
}

// The texts of a spreadsheet stand apart from its rows, and are needed all at once.
const mostTexts = 96 * 1024 * 1024

/** The tables of a spreadsheet in their order. */
export async function sheetsOf(archive: Archive, shown: string): Promise<readonly Sheet[]> {
  const targets = new Map<string, string>()
  await parseWhole(
    archive,
    { part: 'xl/_rels/workbook.xml.rels', shown },
    {
      open: (name, { Id = '', Target = '' }) => {
        if (name === 'Relationship') targets.set(Id, Target.replace(/^\/?(?:xl\/)?/, 'xl/'))
      },
    },
  )
  const sheets: Sheet[] = []
  await parseWhole(
    archive,
    { part: 'xl/workbook.xml', shown },
    {
      open: (name, attributes) => {
        const part = targets.get(attributes['r:id'] ?? '')
        if (name === 'sheet' && part !== undefined && archive.names.includes(part)) {
          sheets.push({ name: attributes['name'] ?? part, part })
        }
      },
    },
  )
  return sheets
}

/** The texts that the cells of all sheets refer to by their numbers. */
export async function sharedTexts(archive: Archive, shown: string): Promise<readonly string[]> {
  const part = 'xl/sharedStrings.xml'
  if (!archive.names.includes(part)) return []
  if (archive.sizeOf(part) > mostTexts) {
    throw new Misuse(
      `expected a spreadsheet of at most ${mostTexts / 1024 / 1024} MiB of texts, got more in ${shown}; save the sheet as CSV`,
    )
  }
  const texts: string[] = []
  let text = ''
  let inText = false
  // How a sign is spoken in Japanese stands beside it and is no part of the text.
  let spoken = false
  await parseWhole(
    archive,
    { part, shown },
    {
      open: (name) => {
        if (name === 'si') text = ''
        if (name === 'rPh') spoken = true
        inText = name === 't' && !spoken
      },
      text: (more) => {
        if (inText) text += more
      },
      close: (name) => {
        inText = false
        if (name === 'rPh') spoken = false
        if (name === 'si') texts.push(text)
      },
    },
  )
  return texts
}

async function parseWhole(
  archive: Archive,
  of: { readonly part: string; readonly shown: string },
  element: XmlReader,
): Promise<void> {
  for await (const _ of parsed(archive, of, element)) continue
}

/** Reads one file of a spreadsheet, a piece at a time; what was found may be taken after each. */
async function* parsed(
  archive: Archive,
  { part, shown }: { readonly part: string; readonly shown: string },
  { open, text, close }: XmlReader,
): AsyncGenerator<void> {
  const parser = new SaxesParser()
  const decoder = new StringDecoder('utf8')
  parser.on('opentag', ({ name, attributes }) => open?.(bare(name), attributes))
  parser.on('text', (found) => text?.(found))
  parser.on('closetag', ({ name }) => close?.(bare(name)))
  try {
    for await (const piece of archive.read(part)) {
      parser.write(decoder.write(piece))
      yield
    }
    parser.close()
    yield
  } catch (cause) {
    if (cause instanceof Misuse) throw cause
    throw new Misuse(
      `expected ${shown} to be a whole spreadsheet, got ${part} in it that cannot be read: ${reasonOf(cause).split('\n')[0] ?? ''}`,
      { cause },
    )
  }
}

/** Names may carry the sign of their vocabulary. */
function bare(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}

/** The rows of a sheet as lines of CSV: each row on the line of its number. */
export async function* sheetLines(
  archive: Archive,
  of: { readonly part: string; readonly shown: string },
  texts: readonly string[],
): AsyncGenerator<Buffer> {
  const rows = new SheetRows(texts)
  for await (const _ of parsed(archive, of, rows)) {
    const lines = rows.take()
    if (lines !== '') yield Buffer.from(lines)
  }
}
