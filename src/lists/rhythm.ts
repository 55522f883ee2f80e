import type { ListColumn } from './names.ts'
import { isGap } from './trial.ts'
import type { Checked } from './values.ts'
import { readDuration } from '../shared/time/duration.ts'

/** How often a line wants its query asked at night, and how old an answer it takes; null: it says nothing. */
export interface Rhythm {
  readonly everyDays: number | null
  readonly maxAgeMs: number | null
}

/** What a list says that has no such columns. */
export const noRhythm: Rhythm = { everyDays: null, maxAgeMs: null }

const words: ReadonlyMap<string, number> = new Map([
  ['daily', 1],
  ['weekly', 7],
  ['monthly', 30],
])

const longestDays = 366

/** How often: a number of days or weeks, or a word for it. */
export function checkEvery(given: string): Checked<number | null> {
  const text = given.trim().toLowerCase()
  if (text === '') return { ok: true, value: null }
  const [, count, unit] = /^(\d{1,3})\s*(d|days?|w|weeks?)$/.exec(text) ?? []
  const days = words.get(text) ?? Number(count) * (unit?.startsWith('w') === true ? 7 : 1)
  if (days >= 1 && days <= longestDays) return { ok: true, value: days }
  return { ok: false, reason: 'every is no interval such as "3d", "weekly" or "monthly"' }
}

/** How old an answer may be. */
export function checkMaxAge(given: string): Checked<number | null> {
  if (given.trim() === '') return { ok: true, value: null }
  const value = readDuration(given)
  if (value !== null) return { ok: true, value }
  return { ok: false, reason: 'max_age is no duration such as "12h" or "7d"' }
}

/** What a row says in these columns, where its list has them. */
export function readRhythm(
  cells: readonly string[],
  columns: ReadonlyMap<string, ListColumn>,
): Checked<Rhythm> {
  const cellOf = (role: 'every' | 'max_age') => {
    const column = columns.get(role)
    const cell = column === undefined ? '' : (cells[column.index] ?? '')
    return isGap(cell) ? '' : cell
  }
  const every = checkEvery(cellOf('every'))
  if (!every.ok) return every
  const age = checkMaxAge(cellOf('max_age'))
  if (!age.ok) return age
  return { ok: true, value: { everyDays: every.value, maxAgeMs: age.value } }
}
