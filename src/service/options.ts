import { Misuse } from '../shared/errors.ts'

/** A whole number from a flag; undefined when the flag is not there. */
export function wholeFlag(
  name: string,
  text: string | undefined,
  most: number,
): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (/^\d+$/.test(text) && value <= most) return value
  throw new Misuse(`expected --${name} to be a whole number up to ${most}, got ${text}`)
}

/** One of the words that a flag knows. */
export function wordFlag<Word extends string>(
  name: string,
  text: string,
  words: readonly Word[],
): Word {
  const found = words.find((word) => word === text)
  if (found !== undefined) return found
  throw new Misuse(`expected --${name} to be one of ${words.join(', ')}, got ${text}`)
}

/** A path from a flag under which everything lives, as it stands before `/v1`: empty for none. */
export function pathFlag(name: string, text: string): string {
  // Signs beyond these mean something to the routes, or would be sent in another spelling.
  if (/^(?:\/[\w.~-]+)*\/?$/.test(text)) return text.replace(/\/$/, '')
  throw new Misuse(`expected --${name} to be a path like /search-api, got ${text}`)
}

/** A day from a flag, as the clock of answers that move. */
export function dayFlag(name: string, text: string | undefined): (() => Date) | undefined {
  if (text === undefined) return undefined
  const day = new Date(`${text}T12:00:00Z`)
  if (/^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(day.getTime())) return () => day
  throw new Misuse(`expected --${name} to be a day like 2026-01-31, got ${text}`)
}
