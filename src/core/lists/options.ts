// Options for reading a list, as specified by the user.

import { z } from 'zod'
import { wordFlag } from '../../base/cli/flags.ts'
import { Misuse } from '../../base/errors.ts'
import { type Dialect, type Mapping, otherRoles } from './columns.ts'
import {
  checkCountry,
  checkDevice,
  type Checked,
  checkLanguage,
  checkNum,
  checkPlace,
  checkPriority,
  readTags,
} from './values.ts'

const shape = z
  .object({
    encoding: z.string(),
    delimiter: z.string(),
    /** Name or number of the query column. */
    column: z.string(),
    /** False if the first line is an ordinary row. */
    header: z.literal(false).optional().catch(undefined),
    /** Name of the table to read from a spreadsheet or archive. */
    sheet: z.string(),
    decimal: z.enum(['.', ',']),
    /** If undefined, formulas are rejected. */
    formulas: z.enum(['keep', 'refuse']),
    matchTypes: z.literal('strip').optional().catch(undefined),
    /** If undefined, a list with numbers or bullets before its queries is rejected. */
    numbering: z.enum(['keep', 'strip']),
    /** If undefined, a list with lines that start with "# " or "//" is rejected. */
    comments: z.enum(['keep', 'skip']),
    map: z.array(z.object({ column: z.string(), role: z.enum(otherRoles).nullable() })).readonly(),
    /** Number of cells per row when the flags were stored. */
    width: z.number(),
  })
  .partial()

/** Reading options as typed. */
export type Agreed = Readonly<z.infer<typeof shape>>

export interface ReadOptions extends Omit<Agreed, 'header' | 'matchTypes'> {
  readonly header?: boolean | undefined
  readonly matchTypes: 'keep' | 'strip'
  readonly defaults: Defaults
  /** Line number of the first line, if not 1. */
  readonly firstLine?: number | undefined
}

/** Values for all rows, which override all columns except tags. A query is repeated for each value of a parameter. */
export type Defaults = ReturnType<typeof readDefaults>

/** Returns the flags to store for the next nightly run; null if no flags were typed. */
export function agreedOf(typed: Partial<ReadOptions>, { columns }: Dialect): Agreed | null {
  const said = Object.entries(shape.parse(typed))
  const kept = said.filter(([, value]) => value !== undefined)
  return kept.length === 0 ? null : { ...Object.fromEntries(kept), width: columns.width }
}

/** Reads the flags that are stored in the database. */
export function readAgreed(kept: unknown): Agreed {
  return shape.catch({}).parse(kept)
}

const roleWords = new Map<string, Mapping['role']>([
  ...otherRoles.map((role) => [role, role] as const),
  ['place', 'location'],
  ['language', 'hl'],
  ['country', 'gl'],
  ['volume', 'weight'],
  ['none', null],
])

function readMap(text: string): Mapping {
  const [, column = '', meant = ''] = /^\s*(.*?)\s*=\s*([^=]*?)\s*$/s.exec(text) ?? []
  const role = roleWords.get(meant.toLowerCase())
  if (column !== '' && role !== undefined) return { column, role }
  throw new Misuse(
    `expected --map in the form "Country=gl", with one of ${[...roleWords.keys()].join(', ')} after the equals sign, got ${JSON.stringify(text)}`,
  )
}

type ValueFlag = 'language' | 'country' | 'num' | 'device' | 'priority' | 'tags'
type FormatFlag = 'encoding' | 'delimiter' | 'column' | 'sheet'
type WordFlag = 'decimal' | 'formulas' | 'numbering' | 'comments' | 'matchTypes'

/** Commas separate the values of a flag, but `--place` is repeated for each place. */
export interface ReadingFlags extends Readonly<
  Partial<Record<ValueFlag | FormatFlag | WordFlag, string | undefined>>
> {
  readonly place?: readonly string[] | undefined
  /** False after --no-header. */
  readonly header?: boolean
  readonly map?: readonly string[]
}

export function readReading(typed: ReadingFlags): ReadOptions {
  const { encoding, delimiter, column, header, sheet } = typed
  const sign = word('decimal', typed.decimal, ['point', 'comma'])
  return {
    ...{ encoding, delimiter, column, header, sheet },
    map: typed.map?.map(readMap),
    decimal: sign === undefined ? undefined : sign === 'point' ? '.' : ',',
    formulas: word('formulas', typed.formulas, ['keep', 'refuse']),
    numbering: word('numbering', typed.numbering, ['keep', 'strip']),
    comments: word('comments', typed.comments, ['keep', 'skip']),
    matchTypes: word('match-types', typed.matchTypes, ['keep', 'strip']) ?? 'keep',
    defaults: readDefaults(typed),
  }
}

function word<W extends string>(name: string, typed: string | undefined, words: readonly W[]) {
  return typed === undefined ? undefined : wordFlag(name, typed.toLowerCase(), words)
}

export function readDefaults(typed: ReadingFlags) {
  const { priority, tags = '' } = typed
  return {
    location: (typed.place ?? []).map((text) => one('--place', text, checkPlace)),
    hl: several('--language', typed.language, checkLanguage),
    gl: several('--country', typed.country, checkCountry),
    num: several('--num', typed.num, checkNum),
    device: several('--device', typed.device, checkDevice),
    priority: priority === undefined ? null : one('--priority', priority, checkPriority),
    tags: readTags(tags),
  } as const
}

export const noDefaults = readDefaults({})

function several<T>(
  flag: string,
  typed: string | undefined,
  check: (text: string) => Checked<T>,
): readonly T[] {
  return [...new Set(typed?.split(',').map((text) => one(flag, text, check)))]
}

function one<T>(flag: string, text: string, check: (text: string) => Checked<T>): T {
  const checked = text.trim() === '' ? undefined : check(text)
  if (checked?.ok === true) return checked.value
  throw new Misuse(
    `expected a valid value for ${flag}, got ${JSON.stringify(text)}; ${checked?.reason ?? 'omit the flag if there is no value'}`,
  )
}
