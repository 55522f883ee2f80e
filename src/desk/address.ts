import { dayMs, dayOf, formatDate, isDay } from '../base/time/zone.ts'

/** What was asked for cannot be: the address says something impossible. */
export class BadAddress extends Error {}

/** What was asked for is not there. */
export class NotThere extends Error {}

/** The days from `since` to `until`, both included. */
export interface DaySpan {
  readonly since: string
  readonly until: string
}

const longestText = 8_000
const firstDay = '2000-01-01'
const lastDay = '2199-12-31'
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** What an address says: the names in its path, the filters behind its question mark. All of it is typed by strangers. */
export class PageAddress {
  readonly #path: Readonly<Record<string, string>>
  readonly #filters: URLSearchParams

  constructor(path: Readonly<Record<string, string>>, filters: URLSearchParams) {
    this.#path = path
    this.#filters = filters
  }

  /** A part of the path, as text. */
  part(name: string): string {
    return this.#path[name] ?? ''
  }

  /** A number in the path; what is none names nothing. */
  id(name: string): number {
    const text = this.part(name)
    const id = Number(text)
    if (/^\d{1,15}$/.test(text) && id > 0) return id
    throw new NotThere(`There is no ${name} ${quoted(text)}: it would be a number.`)
  }

  /** An id of a dictionary in the path, such as that of a query. */
  uuid(name: string): string {
    const text = this.part(name)
    if (uuid.test(text)) return text.toLowerCase()
    throw new NotThere(`There is no ${name} ${quoted(text)}.`)
  }

  /** A day in the path. */
  dayPart(name: string): string {
    return expectDay(name, this.part(name))
  }

  /** A filter as text; null: not there, or empty. */
  text(name: string): string | null {
    const text = this.#filters.get(name)?.trim() ?? ''
    if (text.length > longestText) {
      throw new BadAddress(
        `${name}: expected at most ${longestText} characters, got ${text.length}.`,
      )
    }
    if (text.includes('\0'))
      throw new BadAddress(`${name}: expected text, got a character that is none.`)
    return text === '' ? null : text
  }

  /** All values of a filter that may come several times. */
  texts(name: string): readonly string[] {
    return this.#filters.getAll(name).filter((text) => text.trim() !== '' && !text.includes('\0'))
  }

  /** True for `name=1`, `name=on`, `name=show`: a box that is ticked. */
  ticked(name: string): boolean {
    return ['1', 'on', 'show', 'true', 'yes'].includes(this.text(name) ?? '')
  }

  /** One of the words that a filter knows; the first one when it is not there. */
  word<Word extends string>(name: string, words: readonly [Word, ...Word[]]): Word {
    const text = this.text(name)
    if (text === null) return words[0]
    const found = words.find((word) => word === text)
    if (found !== undefined) return found
    throw new BadAddress(`${name}: expected one of ${words.join(', ')}, got ${quoted(text)}.`)
  }

  /** A whole number from one up; the fallback when it is not there. */
  whole(name: string, { fallback, most }: { fallback: number; most: number }): number {
    const text = this.text(name)
    if (text === null) return fallback
    const value = Number(text)
    if (/^\d{1,9}$/.test(text) && value >= 1 && value <= most) return value
    throw new BadAddress(`${name}: expected a whole number from 1 to ${most}, got ${quoted(text)}.`)
  }

  /** A day of the calendar; null: not there. */
  day(name: string): string | null {
    const text = this.text(name)
    return text === null ? null : expectDay(name, text)
  }

  /** From `since` to `until`; a day that is not given lies so many days before the other, or is `today`. */
  span({ today, days }: { today: string; days: number }): DaySpan {
    const until = this.day('until') ?? today
    const since = this.day('since') ?? daysBefore(until, days - 1)
    if (since <= until) return { since, until }
    throw new BadAddress(`since: expected a day up to until, ${until}, got ${since}.`)
  }

  /** The filters as they were typed, for forms that show them again. */
  get filters(): URLSearchParams {
    return new URLSearchParams(this.#filters)
  }
}

/** A day so many days earlier. */
export function daysBefore(day: string, days: number): string {
  return formatDate(dayOf(day).getTime() - days * dayMs)
}

/** The day after a day. */
export function dayAfter(day: string): string {
  return daysBefore(day, -1)
}

function expectDay(name: string, text: string): string {
  if (isDay(text) && text >= firstDay && text <= lastDay) return text
  throw new BadAddress(`${name}: expected a day like 2026-11-22, got ${quoted(text)}.`)
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
}
