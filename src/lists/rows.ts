import { keyOf, queryIdBytes, type Query } from '../shared/query.ts'
import { requestRoles, type Columns } from './columns.ts'
import type { ListColumn } from './names.ts'
import { readNumber, type DecimalSign } from './numbers.ts'
import { isGap } from './trial.ts'
import type { ColumnFindings } from './soft.ts'
import { noRhythm, readRhythm, type Rhythm } from './rhythm.ts'
import { Requests, type Defaults, type Requested } from './requests.ts'
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
export interface ListedQuery extends Rhythm {
  readonly line: number
  /** As `queryIdBytes` makes it. */
  readonly id: string
  readonly key: string
  readonly query: Query
  readonly priority: number
  readonly weight: number | null
  readonly target: string | null
  readonly tags: readonly string[]
  /** What a click costs, and how hard it is to rank, as the tool that made the list says. */
  readonly cpc: number | null
  readonly difficulty: number | null
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
  /** What a spreadsheet would compute is refused, unless a person wants it as it stands. */
  readonly formulas?: 'keep' | 'refuse' | undefined
  readonly verdict: ColumnFindings
}

type About = Omit<ListedQuery, 'line' | 'id' | 'key' | 'query' | 'given'>

// How advertising accounts begin the lines below their tables, language by language.
const total =
  /^(?:total|totals|grand total|totaal|gesamt|summe|totale|totali|totalt|łącznie|razem|suma|toplam|celkem|итого|всего|合計|合计|總計|합계|총계)\s?[:：]/iu

/** Turns the records of one list into queries. */
export class Rows {
  readonly #options: RowOptions
  readonly #requests: Requests
  readonly #columns: ReadonlyMap<string, ListColumn>
  readonly #tagColumns: readonly number[]
  readonly #hasRhythm: boolean
  /** What is said about every query, when no column says more. */
  readonly #same: About | null

  constructor(options: RowOptions) {
    this.#options = options
    const others = options.columns.others.filter(({ index }) => !options.verdict.ignored.has(index))
    this.#columns = new Map(others.map((column) => [column.role, column]))
    this.#tagColumns = others.filter(({ role }) => role === 'tags').map(({ index }) => index)
    this.#hasRhythm = this.#columns.has('every') || this.#columns.has('max_age')
    this.#requests = new Requests(this.#columns, options.defaults)
    const describes = others.some(({ role }) => !requestRoles.some((name) => name === role))
    this.#same = describes ? null : valueOf(this.#about([]))
  }

  /** The queries of a record, or why it gives none; undefined for a record that holds nothing. */
  read(cells: readonly string[], line: number): readonly ListedQuery[] | string | undefined {
    const { columns, matchTypes, formulas } = this.#options
    const given = cells[columns.query]
    if ((given === undefined || given === '') && cells.every((cell) => cell.trim() === ''))
      return undefined
    if (cells.length !== columns.width) {
      const reason = raggedness(cells, columns)
      if (reason !== undefined) return reason
    }
    const bare = matchTypes === 'strip' ? stripMatchType(given ?? '') : (given ?? '')
    const text = checkText(bare, formulas)
    if (!text.ok) return isBlank(cells) ? undefined : text.reason
    if (columns.width > 2 && total.test(text.value)) return 'a total of the lines above, no query'
    const asked = this.#requests.read(cells)
    if (!asked.ok) return asked.reason
    const about = this.#same === null ? this.#about(cells) : known(this.#same)
    if (!about.ok) return about.reason
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
    const weight = this.#weight(cells)
    if (!weight.ok) return weight
    const target = checkTarget(this.#cell(cells, 'target'))
    if (!target.ok) return target
    const rhythm = this.#hasRhythm ? readRhythm(cells, this.#columns) : known(noRhythm)
    if (!rhythm.ok) return rhythm
    return {
      ok: true,
      value: {
        priority: priority.value,
        weight: weight.value,
        target: target.value,
        tags: this.#tags(cells),
        cpc: this.#number(cells, 'cpc'),
        difficulty: this.#number(cells, 'difficulty'),
        ...rhythm.value,
      },
    }
  }

  #tags(cells: readonly string[]): readonly string[] {
    const { tags } = this.#options.defaults
    if (this.#tagColumns.length === 0) return tags
    const own = this.#tagColumns.flatMap((index) => readTags(cells[index] ?? ''))
    return own.length === 0 ? tags : [...new Set([...tags, ...own])]
  }

  /** A tool's own number that cannot be read costs no query. */
  #weight(cells: readonly string[]): Checked<number | null> {
    const column = this.#columns.get('weight')
    if (column === undefined) return known(null)
    if (column.tool === true) return known(this.#number(cells, 'weight'))
    return checkWeight(cells[column.index] ?? '', this.#decimal(column))
  }

  #number(cells: readonly string[], role: string): number | null {
    const column = this.#columns.get(role)
    if (column === undefined) return null
    return readNumber(cells[column.index] ?? '', this.#decimal(column)) ?? null
  }

  #decimal({ index }: ListColumn): DecimalSign {
    return this.#options.verdict.decimals.get(index) ?? '.'
  }

  #cell(cells: readonly string[], role: string): string {
    const column = this.#columns.get(role)
    if (column === undefined) return ''
    const cell = cells[column.index] ?? ''
    return role === 'priority' && isGap(cell) ? '' : cell
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
  const query = { q, location, hl, gl, num, device }
  return { line, id: queryIdBytes(key), key, query, ...about, given }
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

const longestContent = 500

/** The beginning of a line, as far as a table can hold it. */
export function contentOf(text: string): string {
  return text.slice(0, longestContent).toWellFormed().replaceAll('\u0000', '\ufffd')
}
