// Parses spreadsheet XML, and writes the rows as CSV lines.

import { StringDecoder } from 'node:string_decoder'
import { SaxesParser } from 'saxes'
import { Misuse, reasonOf } from '../../base/errors.ts'
import type { Archive } from './zip.ts'

export type Attributes = Readonly<Record<string, string>>

export interface XmlReader {
  readonly open?: (name: string, attributes: Attributes) => void
  readonly text?: (text: string) => void
  readonly close?: (name: string) => void
}

export async function parseWhole(archive: Archive, part: string, reader: XmlReader): Promise<void> {
  for await (const _ of parsed(archive, part, reader)) continue
}

/** Yields after each piece, so that the caller can collect the results. */
async function* parsed(
  archive: Archive,
  part: string,
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
      `expected ${archive.shown} to be an intact spreadsheet, got an unreadable part ${part}: ${reasonOf(cause).split('\n')[0] ?? ''}`,
      { cause },
    )
  }
}

function bare(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}

export interface Sheet {
  readonly name: string
  readonly hidden: boolean
  /** File in the archive that holds the rows of the sheet. */
  readonly part: string
  readonly reader: (rows: SheetRows) => XmlReader
}

/** Yields the rows as CSV lines with the same line numbers, and adds the numbers of hidden rows to `hiddenRows`. */
export async function* sheetLines(
  archive: Archive,
  { part, reader }: Sheet,
  hiddenRows: Set<number>,
): AsyncGenerator<Buffer> {
  const rows = new SheetRows(hiddenRows)
  for await (const _ of parsed(archive, part, reader(rows))) yield Buffer.from(rows.take(false))
  yield Buffer.from(rows.take(true))
}

const firstRows = 100

/** Buffers the rows of a sheet until they are written. */
export class SheetRows {
  #rows: { readonly row: number; readonly cells: readonly (string | undefined)[] }[] = []
  /** Rows are padded to this width, because a header with merged cells must be as wide as the rows below it. */
  #width: number | null = null
  #written = 0
  readonly #hidden: Set<number>

  constructor(hidden: Set<number>) {
    this.#hidden = hidden
  }

  add(row: number, cells: readonly (string | undefined)[], hidden: boolean): void {
    if (hidden) this.#hidden.add(row)
    this.#rows.push({ row, cells })
  }

  /** Holds back the first rows until the width of the widest row is known. */
  take(last: boolean): string {
    if (this.#width === null && !last && this.#rows.length < firstRows) return ''
    this.#width ??= Math.max(0, ...this.#rows.slice(0, firstRows).map(({ cells }) => cells.length))
    let out = ''
    for (const { row, cells } of this.#rows) {
      const gap = Math.max(0, Math.min(row, 2_000_000) - this.#written - 1)
      const length = Math.max(cells.length, this.#width)
      const texts = Array.from({ length }, (_, at) => csvCell(cells[at] ?? ''))
      out += `${'\n'.repeat(gap)}${texts.join(',')}\n`
      this.#written += gap + 1
    }
    this.#rows = []
    return out
  }
}

/** Replaces line ends with blanks, because line ends would shift the line numbers of the following rows. */
export function csvCell(given: string): string {
  const text = given.replace(/\s+/g, ' ')
  return /[",;\t|]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
