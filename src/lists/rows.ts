import { keyOf, queryIdBytes, type Query } from '../shared/query.ts'
import type { ListColumn, Columns } from './columns.ts'
import { requestRoles, Requests, type Defaults, type Requested } from './requests.ts'
import {
  checkPriority,
  checkTarget,
  checkText,
  checkWeight,
  readTags,
  stripMatchType,
  type Checked,
} from './values.ts'

/** One query of a row, with what the row says about it. */
export interface ListedQuery {
  readonly line: number
  /** As `queryIdBytes` makes it. */
  readonly id: string
  readonly key: string
  readonly query: Query
  readonly priority: number
  readonly weight: number | null
  readonly target: string | null
  readonly tags: readonly string[]
  /** The text as the file gave it, when it differs from what is sent. */
  readonly given: string | null
}

export interface Rejection {
  readonly line: number
  readonly reason: string
  readonly content: string
}

export interface RowOptions {
  readonly columns: Columns
  readonly defaults: Defaults
  readonly matchTypes: 'keep' | 'strip'
}

type About = Pick<ListedQuery, 'priority' | 'weight' | 'target' | 'tags'>

/** Turns the records of one list into queries. */
export class Rows {
  readonly #options: RowOptions
  readonly #requests: Requests
  readonly #columns: ReadonlyMap<string, ListColumn>
  readonly #tagColumns: readonly number[]
  /** What is said about every query, when no column says more. */
  readonly #same: About | null

  constructor(options: RowOptions) {
    this.#options = options
    const { others } = options.columns
    this.#columns = new Map(others.map((column) => [column.role, column]))
    this.#tagColumns = others.filter(({ role }) => role === 'tags').map(({ index }) => index)
    this.#requests = new Requests(this.#columns, options.defaults)
    const describes = others.some(({ role }) => !requestRoles.some((name) => name === role))
    this.#same = describes ? null : valueOf(this.#about([]))
  }

  /** The queries of a record, or why it gives none; undefined for a record that holds nothing. */
  read(cells: readonly string[], line: number): readonly ListedQuery[] | Rejection | undefined {
    const { columns, matchTypes } = this.#options
    const given = cells[columns.query]
    if ((given === undefined || given === '') && cells.every((cell) => cell.trim() === ''))
      return undefined
    if (cells.length !== columns.width) {
      const reason = raggedness(cells, columns)
      if (reason !== undefined) return reject(cells, line, reason)
    }
    const text = checkText(matchTypes === 'strip' ? stripMatchType(given ?? '') : (given ?? ''))
    if (!text.ok) return isBlank(cells) ? undefined : reject(cells, line, text.reason)
    const asked = this.#requests.read(cells)
    if (!asked.ok) return reject(cells, line, asked.reason)
    const about = this.#same === null ? this.#about(cells) : known(this.#same)
    if (!about.ok) return reject(cells, line, about.reason)
    const shown = given === text.value ? null : (given ?? '')
    const shared = { line, about: about.value, given: shown }
    const [only] = asked.value
    if (only !== undefined && asked.value.length === 1) return [queryOf(text.value, only, shared)]
    return asked.value.map((rest) => queryOf(text.value, rest, shared))
  }

  #about(cells: readonly string[]): Checked<About> {
    const { defaults } = this.#options
    const priority = checkPriority(String(defaults.priority ?? this.#cell(cells, 'priority')))
    if (!priority.ok) return priority
    const weight = checkWeight(this.#cell(cells, 'weight'))
    if (!weight.ok) return weight
    const target = checkTarget(this.#cell(cells, 'target'))
    if (!target.ok) return target
    const own = this.#tagColumns.flatMap((index) => readTags(cells[index] ?? ''))
    const tags = own.length === 0 ? defaults.tags : [...new Set([...defaults.tags, ...own])]
    return {
      ok: true,
      value: { priority: priority.value, weight: weight.value, target: target.value, tags },
    }
  }

  #cell(cells: readonly string[], role: string): string {
    const column = this.#columns.get(role)
    return column === undefined ? '' : (cells[column.index] ?? '')
  }
}

function known<T>(value: T): Checked<T> {
  return { ok: true, value }
}

function valueOf<T>(checked: Checked<T>): T | null {
  return checked.ok ? checked.value : null
}

function queryOf(
  q: string,
  { location, hl, gl, num, device, tail }: Requested,
  { line, about, given }: { line: number; about: About; given: string | null },
): ListedQuery {
  const key = keyOf(q, tail)
  const { priority, weight, target, tags } = about
  const query = { q, location, hl, gl, num, device }
  return { line, id: queryIdBytes(key), key, query, priority, weight, target, tags, given }
}

/** Blank cells may be missing or too many; anything else means that the cells stand under wrong names. */
function raggedness(cells: readonly string[], columns: Columns): string | undefined {
  if (
    cells.length >= columns.needed &&
    cells.slice(columns.width).every((cell) => cell.trim() === '')
  ) {
    return undefined
  }
  const counted = cells.length === 1 ? '1 cell' : `${cells.length} cells`
  return `${counted} where the header has ${columns.width}`
}

function isBlank(cells: readonly string[]): boolean {
  return cells.every((cell) => cell.trim() === '')
}

function reject(cells: readonly string[], line: number, reason: string): Rejection {
  return { line, reason, content: contentOf(cells.join(',')) }
}

const longestContent = 500

/** The beginning of a line, as far as a table can hold it. */
export function contentOf(text: string): string {
  return text.slice(0, longestContent).toWellFormed().replaceAll('\u0000', '\ufffd')
}
