import { Misuse } from '../shared/errors.ts'

/** What is told of a piece of XML as it is read. */
export interface XmlReader {
  readonly open?: (name: string, attributes: Readonly<Record<string, string>>) => void
  readonly text?: (text: string) => void
  readonly close?: (name: string) => void
}

/** Turns the XML of a sheet into lines of CSV. */
export class SheetRows implements XmlReader {
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
