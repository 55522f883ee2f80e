// Parses page addresses: names in the path, filters in the query string.

import { dayMs, dayOf, type DaySpan, formatDate, isDay } from '../base/time/zone.ts'

export class BadAddress extends Error {}

export class NotThere extends Error {}

const longestText = 8_000
const firstDay = '2000-01-01'
const lastDay = '2199-12-31'
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Path parameters and filters in an address. All values are untrusted. */
export class PageAddress {
  readonly #path: Readonly<Record<string, string>>
  /** Filters as the user typed them, for display in forms. */
  readonly filters: URLSearchParams

  constructor(path: Readonly<Record<string, string>>, filters: URLSearchParams) {
    this.#path = path
    this.filters = filters
  }

  part(name: string): string {
    return this.#path[name] ?? ''
  }

  /** Number in the path. Throws `NotThere` for any other text. */
  id(name: string): number {
    const text = this.part(name)
    const id = Number(text)
    if (/^\d{1,15}$/.test(text) && id > 0) return id
    throw new NotThere(`There is no ${name} ${quoted(text)}; specify a number.`)
  }

  uuid(name: string): string {
    const text = this.part(name)
    if (uuid.test(text)) return text.toLowerCase()
    throw new NotThere(`There is no ${name} ${quoted(text)}.`)
  }

  dayPart(name: string): string {
    return expectDay(name, this.part(name))
  }

  text(name: string): string | null {
    const text = this.filters.get(name)?.trim() ?? ''
    if (text.length > longestText) {
      throw new BadAddress(
        `${name}: expected at most ${longestText} characters, got ${text.length}.`,
      )
    }
    if (text.includes('\0'))
      throw new BadAddress(`${name}: the text contains an invalid character.`)
    return text === '' ? null : text
  }

  texts(name: string): readonly string[] {
    return this.filters.getAll(name).filter((text) => text.trim() !== '' && !text.includes('\0'))
  }

  /** True if a checkbox is checked: `name=1`, `name=on` or `name=show`. */
  ticked(name: string): boolean {
    return ['1', 'on', 'show', 'true', 'yes'].includes(this.text(name) ?? '')
  }

  /** Returns a filter's value: one of the given words. The first word is the default. */
  word<Word extends string>(name: string, words: readonly [Word, ...Word[]]): Word {
    const text = this.text(name)
    if (text === null) return words[0]
    const found = words.find((word) => word === text)
    if (found !== undefined) return found
    throw new BadAddress(`${name}: expected one of ${words.join(', ')}, got ${quoted(text)}.`)
  }

  whole(name: string, { fallback, most }: { fallback: number; most: number }): number {
    const text = this.text(name)
    if (text === null) return fallback
    const value = Number(text)
    if (/^\d{1,9}$/.test(text) && value >= 1 && value <= most) return value
    throw new BadAddress(`${name}: expected a whole number from 1 to ${most}, got ${quoted(text)}.`)
  }

  day(name: string): string | null {
    const text = this.text(name)
    return text === null ? null : expectDay(name, text)
  }

  /** Reads a period, which by default ends at `today` and is `days` days long. */
  span({ today, days }: { today: string; days: number }): DaySpan {
    const until = this.day('until') ?? today
    const since = this.day('since') ?? daysBefore(until, days - 1)
    if (since <= until) return { since, until }
    throw new BadAddress(`since: expected a day on or before ${until} (until), got ${since}.`)
  }
}

export function daysBefore(day: string, days: number): string {
  return formatDate(dayOf(day).getTime() - days * dayMs)
}

export function dayAfter(day: string): string {
  return daysBefore(day, -1)
}

function expectDay(name: string, text: string): string {
  if (isDay(text) && text >= firstDay && text <= lastDay) return text
  throw new BadAddress(`${name}: expected a date like 2026-11-22, got ${quoted(text)}.`)
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
}
