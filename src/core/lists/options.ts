// Options for reading a list, as specified by the user.

import { z } from 'zod'
import { Misuse } from '../../base/errors.ts'
import { type Dialect, otherRoles } from './columns.ts'
import { readMaps } from './mapping.ts'
import type { ReadOptions } from './reader.ts'
import type { Defaults } from './rows.ts'
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
    column: z.string(),
    header: z.literal(false).optional().catch(undefined),
    skip: z.number(),
    sheet: z.string(),
    decimal: z.enum(['.', ',']),
    formulas: z.enum(['keep', 'refuse']),
    weightColumn: z.string(),
    matchTypes: z.literal('strip').optional().catch(undefined),
    numbering: z.enum(['keep', 'strip']),
    comments: z.enum(['keep', 'skip']),
    map: z.array(z.object({ column: z.string(), role: z.enum(otherRoles).nullable() })),
    /** Cells per row when the flags were accepted. */
    width: z.number(),
  })
  .partial()

/** Reading options as typed. */
export type Agreed = {
  readonly [K in keyof Omit<ReadOptions, 'defaults'>]?: ReadOptions[K] | undefined
}

/** Stores the typed flags for the next nightly run; null if none were typed. */
export function agreedOf(typed: Agreed, { columns }: Dialect): Agreed | null {
  const map = typed.map?.length === 0 ? undefined : typed.map
  const said = Object.entries(shape.parse({ ...typed, map }))
  const kept = said.filter(([, value]) => value !== undefined)
  return kept.length === 0 ? null : { ...Object.fromEntries(kept), width: columns.width }
}

/** Reads the typed flags stored in the database. */
export function readAgreed(kept: unknown): Agreed {
  const found = shape.safeParse(kept)
  return found.success ? found.data : {}
}

/** Column numbers, and rows without a header, are only valid while the row width is unchanged. */
export function refuseOtherShape(
  shown: string,
  { width }: { readonly width?: number | undefined },
  { columns }: Dialect,
): void {
  if (width === undefined || width === columns.width) return
  throw new Misuse(
    `expected ${shown} to have ${width} columns as when it was last agreed how to read it, got ${columns.width}; enqueue it by hand once to say how it is read now`,
  )
}

/** Parameters as typed: values are separated by commas; for places, the flag is repeated. */
export interface Typed {
  readonly place?: readonly string[] | undefined
  readonly language?: string | undefined
  readonly country?: string | undefined
  readonly num?: string | undefined
  readonly device?: string | undefined
  readonly priority?: string | undefined
  readonly tags?: string | undefined
}

export interface TypedReading {
  readonly encoding?: string
  readonly delimiter?: string
  readonly column?: string
  /** False after --no-header. */
  readonly header?: boolean
  readonly skip?: string
  readonly map?: readonly string[]
  readonly weightColumn?: string
  readonly decimal?: string
  readonly formulas?: string
  readonly matchTypes?: string
  readonly numbering?: string
  readonly comments?: string
  readonly sheet?: string
}

/** Reads the options for reading a list. */
export function readReading(typed: TypedReading & Typed): ReadOptions {
  const { encoding, delimiter, header, weightColumn, sheet } = typed
  const { map, column } = readMaps(typed.map ?? [])
  const sign = word('--decimal', typed.decimal, ['point', 'comma'])
  return {
    ...{ encoding, delimiter, header, weightColumn, sheet, map },
    column: typed.column ?? column,
    skip: lines(typed.skip),
    decimal: sign === undefined ? undefined : sign === 'point' ? '.' : ',',
    formulas: word('--formulas', typed.formulas, ['keep', 'refuse']),
    numbering: word('--numbering', typed.numbering, ['keep', 'strip']),
    comments: word('--comments', typed.comments, ['keep', 'skip']),
    matchTypes: word('--match-types', typed.matchTypes, ['keep', 'strip']) ?? 'keep',
    defaults: readDefaults(typed),
  }
}

function word<W extends string>(
  flag: string,
  typed: string | undefined,
  words: readonly W[],
): W | undefined {
  if (typed === undefined) return undefined
  const found = words.find((known) => known === typed.toLowerCase())
  if (found !== undefined) return found
  throw new Misuse(`expected ${flag} to be ${words.join(' or ')}, got ${JSON.stringify(typed)}`)
}

function lines(typed: string | undefined): number | undefined {
  if (typed === undefined) return undefined
  if (/^\d{1,6}$/.test(typed)) return Number(typed)
  throw new Misuse(`expected --skip to be a number of lines, got ${JSON.stringify(typed)}`)
}

/** Reads the parameters that apply to a whole list. */
export function readDefaults(typed: Typed): Defaults {
  return {
    location: typed.place?.map((text) => one('--place', text, checkPlace)) ?? [],
    hl: several('--language', typed.language, checkLanguage),
    gl: several('--country', typed.country, checkCountry),
    num: several('--num', typed.num, checkNum),
    device: several('--device', typed.device, checkDevice),
    priority:
      typed.priority === undefined ? null : one('--priority', typed.priority, checkPriority),
    tags: readTags(typed.tags ?? ''),
  }
}

function several<T>(flag: string, typed: string | undefined, check: (text: string) => Checked<T>) {
  if (typed === undefined) return []
  return [...new Set(typed.split(',').map((text) => one(flag, text, check)))]
}

function one<T>(flag: string, text: string, check: (text: string) => Checked<T>): T {
  const checked = text.trim() === '' ? undefined : check(text)
  if (checked?.ok === true) return checked.value
  throw new Misuse(
    `expected another value for ${flag}, got ${JSON.stringify(text)}; ${checked?.reason ?? 'leave the flag out for no value'}`,
  )
}
