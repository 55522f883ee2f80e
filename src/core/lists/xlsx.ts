import { StringDecoder } from 'node:string_decoder'
import { SaxesParser } from 'saxes'
import { Misuse, reasonOf } from '../../base/errors.ts'
import type { Archive } from './zip.ts'

/** A table of a spreadsheet, and the file of the archive that holds it. */
interface Sheet {
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

/** What is told of a piece of XML as it is read. */
interface XmlReader {
  readonly open?: (name: string, attributes: Readonly<Record<string, string>>) => void
  readonly text?: (text: string) => void
  readonly close?: (name: string) => void
}

/** Turns the XML of a sheet into lines of CSV. */
class SheetRows implements XmlReader {
  readonly #texts: readonly string[]
  #out = ''
  #written = 0
  #row = 0
  #cells: (string | undefined)[] = []
  #column = 0
  #kind = 'n'
  #value = ''
  #inValue = false

  constructor(texts: readonly string[]) {
    this.#texts = texts
  }

  readonly open = (name: string, { r, t }: Readonly<Record<string, string>>): void => {
    if (name === 'row') {
      this.#row = r === undefined ? this.#row + 1 : Number(r)
      this.#cells = []
      this.#column = 0
    } else if (name === 'c') {
      this.#column = r === undefined ? this.#column : columnOf(r)
      this.#kind = t ?? 'n'
      this.#value = ''
    }
    this.#inValue = name === 'v' || name === 't'
  }

  readonly text = (text: string): void => {
    if (this.#inValue) this.#value += text
  }

  readonly close = (name: string): void => {
    this.#inValue = false
    if (name === 'c') this.#endCell()
    if (name === 'row') this.#endRow()
  }

  #endCell(): void {
    const text = this.#kind === 's' ? (this.#texts[Number(this.#value)] ?? '') : this.#value
    // A line end in a cell would move the rows below it away from their numbers.
    if (text !== '') this.#cells[this.#column] = text.replace(/\s+/g, ' ')
    this.#column++
  }

  /** Rows without a value are written only when one with a value follows. */
  #endRow(): void {
    if (this.#cells.length === 0) return
    const gap = Math.max(0, Math.min(this.#row, 2_000_000) - this.#written - 1)
    const cells = Array.from(this.#cells, (cell) => csvCell(cell ?? ''))
    this.#out += `${'\n'.repeat(gap)}${cells.join(',')}\n`
    this.#written += gap + 1
  }

  take(): string {
    const out = this.#out
    this.#out = ''
    return out
  }
}

const mostColumns = 16_384

/** `AB12` is in column 27, counted from 0. */
function columnOf(reference: string): number {
  let column = 0
  for (const sign of reference.replace(/\d+$/, '')) column = column * 26 + sign.charCodeAt(0) - 64
  if (column >= 1 && column <= mostColumns) return column - 1
  throw new Misuse(`expected a cell of a spreadsheet, got ${reference.slice(0, 20)}`)
}

function csvCell(text: string): string {
  return /[",;\t|]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
