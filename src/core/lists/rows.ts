// Converts rows to queries.

import { Misuse } from '../../base/errors.ts'
import { idBytes, keyOf, type Query, requestTail } from '../../base/query.ts'
import { type Columns, isRequestRole, type ListColumn, requestRoles } from './columns.ts'
import { stripNumbering } from './foreign.ts'
import type { Defaults, ReadOptions } from './options.ts'
import type { ColumnFindings } from './soft-columns.ts'
import {
  bad,
  checkCountry,
  checkDevice,
  type Checked,
  checkEvery,
  checkLanguage,
  checkMaxAge,
  checkNum,
  checkPlace,
  checkPriority,
  checkTarget,
  checkText,
  checkWeight,
  good,
  isBlank,
  isGap,
  isNumber,
  knownCountry,
  knownLanguage,
  namedPlace,
  readNumber,
  readTags,
  stripMatchType,
} from './values.ts'

export interface ListedQuery {
  readonly line: number
  /** Query id, from `idBytes`. */
  readonly id: string
  readonly key: string
  readonly query: Query
  readonly priority: number
  readonly weight: number | null
  readonly target: string | null
  readonly tags: readonly string[]
  /** Cost per click and difficulty, from the tool that created the list. */
  readonly cpc: number | null
  readonly difficulty: number | null
  /** Interval in days for nightly runs, and maximum age of a reused answer; null if the row sets no value. */
  readonly everyDays: number | null
  readonly maxAgeMs: number | null
  /** Text of the query in the file; null if the text is sent unchanged. */
  readonly given: string | null
}

export interface Rejection {
  readonly line: number
  readonly reason: string
  readonly content: string
}

type About = Omit<ListedQuery, 'line' | 'id' | 'key' | 'query' | 'given'>

// First words of total rows in advertising reports, in several languages.
const totals =
  'total|totals|grand total|totaal|gesamt|summe|totale|totali|totalt|łącznie|razem|suma|toplam|celkem|итого|всего|合計|合计|總計|합계|총계'
const total = new RegExp(`^(?:${totals})\\s?(?:[:：]| - |$)`, 'iu')
// Most queries start with a different letter, so comparing one letter usually avoids the slow pattern match.
const firstLetters = new Set(totals.split('|').map((word) => word.slice(0, 1)))

// Labels of the last line in a spreadsheet pivot table. In a list with one column, a plain "total" may be a query.
const grandTotals = new Set(
  'Grand Total|Gesamtergebnis|Total général|Total general|Totale complessivo|Total Geral|Eindtotaal|Suma końcowa|Общий итог|総計|总计|總計|총합계'.split(
    '|',
  ),
)

/** Detects total lines. A single lower-case word does not count. */
function isTotal(text: string, columns: Columns, cells: readonly string[]): boolean {
  if (grandTotals.has(text)) return true
  if (columns.width === 1 || !firstLetters.has(text.slice(0, 1).toLowerCase())) return false
  if (!total.test(text) || /^\p{Ll}+$/u.test(text)) return false
  return columns.width > 2 || cells.some(isNumber)
}

/** A record's queries, or the reason for its rejection; undefined for an empty record. */
export type Row = readonly ListedQuery[] | string | undefined

export class Rows {
  readonly #layout: Columns
  readonly #options: ReadOptions
  readonly #decimals: ColumnFindings['decimals']
  readonly #readRequests: ReturnType<typeof createRequestReader>
  readonly #columns: ReadonlyMap<string, ListColumn>
  readonly #tagColumns: readonly number[]
  /** Attributes of all queries if no column sets attributes; otherwise null. */
  readonly #same: Checked<About> | null

  constructor(columns: Columns, { ignored, decimals }: ColumnFindings, options: ReadOptions) {
    this.#layout = columns
    this.#options = options
    this.#decimals = decimals
    const others = columns.others.filter(({ index }) => !ignored.has(index))
    this.#columns = new Map(others.map((column) => [column.role, column]))
    this.#tagColumns = others.filter(({ role }) => role === 'tags').map(({ index }) => index)
    this.#readRequests = createRequestReader(this.#columns, options.defaults)
    this.#same = others.every(({ role }) => isRequestRole(role)) ? this.#about([]) : null
  }

  read(cells: readonly string[], line: number): Row {
    const { matchTypes, formulas, numbering } = this.#options
    const columns = this.#layout
    const given = cells[columns.query]
    if ((given === undefined || given === '') && isBlank(cells)) return undefined
    if (cells.length !== columns.width) {
      const reason = raggedness(cells, columns)
      if (reason !== undefined) return reason
    }
    const own = numbering === 'strip' ? stripNumbering(given ?? '') : (given ?? '')
    const text = checkText(matchTypes === 'strip' ? stripMatchType(own) : own, formulas)
    if (!text.ok) return isBlank(cells) ? undefined : text.reason
    if (isTotal(text.value, columns, cells)) return 'a total of the lines above, not a query'
    const asked = this.#readRequests(cells)
    if (!asked.ok) return asked.reason
    const about = this.#same ?? this.#about(cells)
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
    const target = this.#checked(cells, 'target', checkTarget)
    if (!target.ok) return target
    const every = this.#checked(cells, 'every', checkEvery)
    if (!every.ok) return every
    const age = this.#checked(cells, 'max_age', checkMaxAge)
    if (!age.ok) return age
    return good({
      priority: priority.value,
      weight: weight.value,
      target: target.value,
      tags: this.#tags(cells),
      cpc: this.#number(cells, 'cpc'),
      difficulty: this.#number(cells, 'difficulty'),
      everyDays: every.value,
      maxAgeMs: age.value,
    })
  }

  #checked<T>(cells: readonly string[], role: string, check: Check<T | null>) {
    return this.#columns.has(role) ? check(this.#cell(cells, role)) : none
  }

  #tags(cells: readonly string[]): readonly string[] {
    const { tags } = this.#options.defaults
    const own = this.#tagColumns.flatMap((index) => readTags(cells[index] ?? ''))
    return own.length === 0 ? tags : [...new Set([...tags, ...own])]
  }

  /** Ignores invalid numbers in a column from a tool. */
  #weight(cells: readonly string[]): Checked<number | null> {
    const column = this.#columns.get('weight')
    if (column === undefined) return none
    if (column.tool === true) return good(this.#number(cells, 'weight'))
    return checkWeight(cells[column.index] ?? '', this.#decimals.get(column.index) ?? '.')
  }

  #number(cells: readonly string[], role: string): number | null {
    const index = this.#columns.get(role)?.index
    if (index === undefined) return null
    return readNumber(cells[index] ?? '', this.#decimals.get(index) ?? '.') ?? null
  }

  #cell(cells: readonly string[], role: string): string {
    const index = this.#columns.get(role)?.index
    const cell = index === undefined ? '' : (cells[index] ?? '')
    return role !== 'target' && isGap(cell) ? '' : cell
  }
}

type Check<T> = (cell: string) => Checked<T>

const none = good(null)

function queryOf(
  q: string,
  { location, hl, gl, num, device, tail }: Requested,
  { line, about, given }: { line: number; about: About; given: string | null },
): ListedQuery {
  const key = keyOf(q, tail)
  const query = { q, location, hl, gl, num, device }
  return { line, id: idBytes('query', key), key, query, ...about, given }
}

/** Extra cells must be blank; cells after the last request parameter may be missing. */
function raggedness(cells: readonly string[], columns: Columns): string | undefined {
  if (cells.length >= columns.needed && isBlank(cells.slice(columns.width))) return undefined
  const counted = cells.length === 1 ? '1 cell' : `${cells.length} cells`
  return `${counted}, but the header has ${columns.width}`
}

/** Truncates a line, and replaces characters that cannot be stored. */
export function contentOf(text: string): string {
  return text.slice(0, 500).toWellFormed().replaceAll('\u0000', '\ufffd')
}

type RequestRole = (typeof requestRoles)[number]
type Requested = Omit<Query, 'q'> & { readonly tail: string }

// Most lists have fewer combinations of places, languages and devices.
const mostRequests = 10_000

// Maximum number of queries from one line. More must be a mistake, and all of them would be in memory at once.
const mostOfOne = 20_000

/** Reads the request parameters of rows. If a parameter has several values, the query is repeated for each value. */
function createRequestReader(columns: ReadonlyMap<string, ListColumn>, defaults: Defaults) {
  refuseTooMany(defaults)
  const checks = checksFor(columns)
  const read = requestRoles.flatMap((role) => {
    const column = columns.get(role)
    return column === undefined || defaults[role].length > 0 ? [] : [column.index]
  })
  const known = new Map<string, Checked<readonly Requested[]>>()
  let kept = 0

  /** Rows with the same parameters share one result. */
  return (cells: readonly string[]): Checked<readonly Requested[]> => {
    let key = ''
    for (const index of read) key += `${cells[index] ?? ''}\u001f`
    const before = known.get(key)
    if (before !== undefined) return before
    const asked = multiply(cells)
    kept += asked.ok ? asked.value.length : 1
    if (kept <= mostRequests) known.set(key, asked)
    return asked
  }

  function multiply(cells: readonly string[]): Checked<readonly Requested[]> {
    let rests: Partial<Query>[] = [{}]
    for (const role of requestRoles) {
      const column = columns.get(role)
      const fixed = defaults[role]
      const cell = column === undefined ? '' : (cells[column.index] ?? '')
      const values = fixed.length > 0 ? good(fixed) : valuesOf(cell, column, checks[role])
      if (!values.ok) return values
      if (rests.length * values.value.length > mostOfOne)
        return bad(`expands to more than ${mostOfOne} queries`)
      rests = rests.flatMap((rest) => values.value.map((value) => ({ ...rest, [role]: value })))
    }
    return good((rests as Omit<Query, 'q'>[]).map((rest) => ({ ...rest, tail: requestTail(rest) })))
  }
}

type Checks = Record<RequestRole, Check<Query[RequestRole]>>

/** A code in one of our own columns is sent unchanged. A code in a tool's column must be a known code. */
function checksFor(columns: ReadonlyMap<string, ListColumn>): Checks {
  return {
    location: columns.get('location')?.asked === true ? checkPlace : namedPlace,
    hl: columns.get('hl')?.tool === true ? knownLanguage : checkLanguage,
    gl: columns.get('gl')?.tool === true ? knownCountry : checkCountry,
    num: checkNum,
    device: checkDevice,
  }
}

/** Returns the distinct values of a cell. */
function valuesOf<Value>(
  cell: string,
  column: ListColumn | undefined,
  check: Check<Value>,
): Checked<readonly Value[]> {
  const isEmpty = column?.role === 'device' && isGap(cell)
  const parts = isEmpty ? [''] : column?.several === true ? cell.split('|') : [cell]
  const values = new Set<Value>()
  for (const part of parts) {
    const checked = check(part)
    if (!checked.ok) return checked
    values.add(checked.value)
  }
  return good([...values])
}

function refuseTooMany(defaults: Defaults): void {
  const each = requestRoles.reduce((all, role) => all * Math.max(1, defaults[role].length), 1)
  if (each <= mostOfOne) return
  throw new Misuse(
    `expected at most ${mostOfOne} queries for each line, got ${each} from the places, languages, countries, nums and devices specified for the whole list; specify fewer`,
  )
}
