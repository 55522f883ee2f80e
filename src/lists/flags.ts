import { Misuse } from '../shared/errors.ts'
import { readMaps } from './mapping.ts'
import type { ReadOptions } from './reader.ts'
import type { Defaults } from './requests.ts'
import {
  checkCountry,
  checkDevice,
  checkLanguage,
  checkNum,
  checkPlace,
  checkPriority,
  readTags,
  type Checked,
} from './values.ts'

/** Parameters as they are typed: several values are divided by commas, places by repeating the flag. */
export interface Typed {
  readonly place?: readonly string[] | undefined
  readonly language?: string | undefined
  readonly country?: string | undefined
  readonly num?: string | undefined
  readonly device?: string | undefined
  readonly priority?: string | undefined
  readonly tags?: string | undefined
}

/** How a list is read, as it is typed. */
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
  readonly sheet?: string
}

/** Reads how a list is to be read. */
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

/** Reads the parameters that hold for a whole list. */
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
