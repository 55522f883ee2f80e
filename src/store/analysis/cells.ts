import pg from 'pg'
import { unhandled } from '../../shared/errors.ts'

/** What a column holds, as far as writing it down is concerned. */
export type ColumnKind = 'number' | 'boolean' | 'instant' | 'json' | 'list' | 'text'

/** A column of an answer, as the server describes it. */
export interface CellColumn {
  readonly name: string
  readonly kind: ColumnKind
  readonly type: number
}

const kinds: Readonly<Record<number, ColumnKind>> = {
  16: 'boolean',
  20: 'number',
  21: 'number',
  23: 'number',
  700: 'number',
  701: 'number',
  1700: 'number',
  114: 'json',
  3802: 'json',
  1184: 'instant',
  1000: 'list',
  1005: 'list',
  1007: 'list',
  1009: 'list',
  1015: 'list',
  1016: 'list',
  1021: 'list',
  1022: 'list',
  1231: 'list',
  2951: 'list',
}

/** What a type of the server holds; whatever is not known is text. */
export function kindOfCell(type: number): ColumnKind {
  return kinds[type] ?? 'text'
}

/** The driver's own reader of arrays: its list of types is shorter than the server's. */
type Listed = string | number | boolean | null

const readList = pg.types.getTypeParser as (type: number) => (text: string) => readonly Listed[]

/** The values of a list as the driver reads them. */
export function listIn(text: string, type: number): readonly Listed[] {
  return readList(type)(text)
}

const bigintList = 1016

function numberIn(value: unknown, type: number): unknown {
  return type === bigintList && typeof value === 'string' ? Number(value) : value
}

/** A value of Postgres as JSON has it. */
export function jsonValue(text: string | null, { kind, type }: CellColumn): unknown {
  if (text === null) return null
  switch (kind) {
    case 'number': {
      const number = Number(text)
      // NaN and infinity have no number in JSON, and long ones would lose digits.
      const exact = Number.isFinite(number) && (Number.isSafeInteger(number) || /[.e]/.test(text))
      return exact ? number : text
    }
    case 'boolean':
      return text === 't'
    case 'instant':
      return /^-?infinity$|BC$/.test(text) ? text : new Date(text).toISOString()
    case 'json':
      return JSON.parse(text) as unknown
    case 'list':
      return listIn(text, type).map((value) => numberIn(value, type))
    case 'text':
      return text
    default:
      throw unhandled('kind', kind)
  }
}
