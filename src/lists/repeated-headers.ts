import { Misuse } from '../shared/errors.ts'
import { isTitle, readHeader, show, type Columns } from './columns.ts'
import { plainName, readMeaning } from './names.ts'
import { mapColumns } from './mapping.ts'
import { isNumber, type Wishes } from './trial.ts'

interface Header {
  readonly header: readonly string[]
  readonly columns: Columns
}

/** A record further down: a row, one that may be a header as well, or a header and its columns. */
export type RowOrHeader = 'row' | 'either' | Columns

const mark = 0xfeff

/** Exports put blocks, and people put files, one below the other: each begins with a header of its own. */
export class Headers {
  readonly #shown: string
  readonly #wishes: Wishes
  readonly #wanted: string | undefined
  readonly #known: Header[]
  readonly #names: ReadonlySet<string>
  #now: Header

  constructor(shown: string, { header, columns }: Header, wishes: Wishes) {
    this.#shown = shown
    this.#wishes = wishes
    this.#wanted = wishes.column
    this.#now = { header: withoutMark(header), columns }
    this.#known = header.length === 0 ? [] : [this.#now]
    this.#names = new Set(header.map((cell) => plainName(cell)).filter((name) => name !== ''))
  }

  /** Called for every record, so it must be quick: the first cell shows of nearly all of them that they are rows. */
  judge(cells: readonly string[], line: number, blankBefore: boolean): RowOrHeader {
    const marked = cells[0]?.charCodeAt(0) === mark
    const begins = blankBefore || marked
    const bare = marked ? withoutMark(cells) : cells
    for (const known of this.#known) {
      if (bare[0] !== known.header[0] || !isSame(bare, known.header)) continue
      if (begins || bare.length > 1) return this.#begin(known)
    }
    if (!begins || this.#wishes.header === false) return 'row'
    const { header, columns } = this.#now
    if (isTitle(header)) return isTitle(bare) ? columns : 'row'
    if (columns.width > 1) return this.#judgeNames(bare, line)
    // Below a blank line a lone word may be a query that happens to be called "keyword"; a mark begins a file.
    return marked && bare.length === 1 && this.#namesQueries(bare[0]) ? columns : 'row'
  }

  #begin(header: Header): Columns {
    this.#now = header
    return header.columns
  }

  #namesQueries(cell = ''): boolean {
    const { header, columns } = this.#now
    const name = plainName(cell)
    if (name !== '' && name === plainName(header[columns.query] ?? '')) return true
    return readMeaning(cell)?.role === 'query'
  }

  /** Other columns from here on when most of the cells are names: a row may well hold the word "keyword". */
  #judgeNames(cells: readonly string[], line: number): RowOrHeader {
    const filled = cells.filter((cell) => cell.trim() !== '')
    if (filled.length < 2 || filled.some(isNumber)) return 'row'
    if (!filled.some((cell) => this.#namesQueries(cell))) return 'row'
    const names = filled.filter(
      (cell) => readMeaning(cell) !== undefined || this.#names.has(plainName(cell)),
    )
    if (names.length <= filled.length / 2) {
      return this.#namesQueries(cells[this.#now.columns.query]) ? 'either' : 'row'
    }
    const reading = readHeader(cells, this.#wanted)
    if (reading.kind !== 'columns') throw this.#refuse(filled, line)
    const columns = mapColumns(reading.columns, cells, { ...this.#wishes, shown: this.#shown })
    const header = { header: cells, columns }
    this.#known.push(header)
    return this.#begin(header)
  }

  #refuse(cells: readonly string[], line: number): Misuse {
    const wanted =
      this.#wanted === undefined ? 'one column of queries' : `a column ${show(this.#wanted)}`
    return new Misuse(
      `${this.#shown}:${line}: expected ${wanted} in the header of this block too, got ${cells.slice(0, 12).map(show).join(', ')}; put the block into a file of its own, or take out the blank line above it if it is a row`,
    )
  }
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((cell, index) => cell === other[index])
}

function withoutMark(cells: readonly string[]): readonly string[] {
  const [first, ...others] = cells
  return first === undefined ? cells : [first.replace(/^\ufeff+/u, ''), ...others]
}
