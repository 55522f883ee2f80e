import { Misuse } from '../shared/errors.ts'
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
