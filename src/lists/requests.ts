import { Misuse } from '../shared/errors.ts'
import { requestTail, type Device, type Query } from '../shared/query.ts'
import { requestRoles } from './columns.ts'
import type { ListColumn } from './names.ts'
import { countryCode, languageCode } from './regions.ts'
import {
  checkCountry,
  checkDevice,
  checkLanguage,
  checkNum,
  checkPlace,
  type Checked,
} from './values.ts'

/** What holds for every row: a value here wins over the columns of the list; several values multiply out. */
export interface Defaults {
  readonly location: readonly (string | null)[]
  readonly hl: readonly (string | null)[]
  readonly gl: readonly (string | null)[]
  readonly num: readonly number[]
  readonly device: readonly (Device | null)[]
  readonly priority: number | null
  readonly tags: readonly string[]
}

/** Nothing but what the list itself says. */
export const noDefaults: Defaults = {
  location: [],
  hl: [],
  gl: [],
  num: [],
  device: [],
  priority: null,
  tags: [],
}

/** Everything about a query but its text. */
export type Requested = Omit<Query, 'q'> & { readonly tail: string }

/** More than most lists have of places, languages and devices together; beyond them each row is read anew. */
const mostRequests = 10_000

/** The queries of one line are in memory at once; a line that gives more than this is a mistake. */
const mostOfOne = 20_000

/** What the rows of a list ask for besides their text; several values multiply out. */
export class Requests {
  readonly #columns: ReadonlyMap<string, ListColumn>
  readonly #defaults: Defaults
  readonly #read: readonly number[]
  readonly #known = new Map<string, Checked<readonly Requested[]>>()
  #kept = 0

  constructor(columns: ReadonlyMap<string, ListColumn>, defaults: Defaults) {
    refuseTooMany(defaults)
    this.#columns = columns
    this.#defaults = defaults
    this.#read = requestRoles.flatMap((role) => {
      const column = columns.get(role)
      return column === undefined || defaults[role].length > 0 ? [] : [column.index]
    })
  }

  /** What one row asks for; rows with the same cells share one list of it. */
  read(cells: readonly string[]): Checked<readonly Requested[]> {
    let key = ''
    for (const index of this.#read) key += `${cells[index] ?? ''}\u001f`
    const before = this.#known.get(key)
    if (before !== undefined) return before
    const asked = this.#multiply(cells)
    this.#kept += asked.ok ? asked.value.length : 1
    if (this.#kept <= mostRequests) this.#known.set(key, asked)
    return asked
  }

  #multiply(cells: readonly string[]): Checked<readonly Requested[]> {
    const defaults = this.#defaults
    const location = checkAll(defaults.location, this.#parts(cells, 'location'), checkPlace)
    if (!location.ok) return location
    const hl = checkAll(defaults.hl, this.#parts(cells, 'hl'), checkLanguage)
    if (!hl.ok) return hl
    const gl = checkAll(defaults.gl, this.#parts(cells, 'gl'), checkCountry)
    if (!gl.ok) return gl
    const num = checkAll(defaults.num, this.#parts(cells, 'num'), checkNum)
    if (!num.ok) return num
    const device = checkAll(defaults.device, this.#parts(cells, 'device'), checkDevice)
    if (!device.ok) return device
    if (product([location.value, hl.value, gl.value, num.value, device.value]) > mostOfOne)
      return { ok: false, reason: `multiplies out to more than ${mostOfOne} queries` }
    return {
      ok: true,
      value: location.value.flatMap((place) =>
        hl.value.flatMap((language) =>
          gl.value.flatMap((country) =>
            num.value.flatMap((count) =>
              device.value.map((kind) =>
                withTail({ location: place, hl: language, gl: country, num: count, device: kind }),
              ),
            ),
          ),
        ),
      ),
    }
  }

  #parts(cells: readonly string[], role: (typeof requestRoles)[number]): readonly string[] {
    const column = this.#columns.get(role)
    const cell = column === undefined ? '' : (cells[column.index] ?? '')
    if (column?.tool === true) {
      const code = role === 'gl' ? countryCode(cell) : languageCode(cell)
      return [code ?? (column.asked === true ? cell : '')]
    }
    return column?.several === true ? cell.split('|') : [cell]
  }
}

/** The values of a flag, or those of a cell, each once. */
function checkAll<T>(
  fixed: readonly T[],
  parts: readonly string[],
  check: (text: string) => Checked<T>,
): Checked<readonly T[]> {
  if (fixed.length > 0) return { ok: true, value: fixed }
  const values = new Set<T>()
  for (const part of parts) {
    const checked = check(part)
    if (!checked.ok) return checked
    values.add(checked.value)
  }
  return { ok: true, value: [...values] }
}

/** Flags that multiply out every row too far are refused at once, not row by row. */
function refuseTooMany(defaults: Defaults): void {
  const each = product(requestRoles.map((role) => defaults[role]))
  if (each <= mostOfOne) return
  throw new Misuse(
    `expected at most ${mostOfOne} queries for each line, got ${each} by the places, languages, countries, nums and devices that hold for the whole list; name fewer of them`,
  )
}

function product(values: readonly (readonly unknown[])[]): number {
  return values.reduce((total, { length }) => total * Math.max(1, length), 1)
}

function withTail(rest: Omit<Query, 'q'>): Requested {
  return { ...rest, tail: requestTail(rest) }
}
