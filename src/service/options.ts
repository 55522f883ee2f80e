import { Misuse } from '../shared/errors.ts'
import { isDay } from '../shared/time/zone.ts'

/** A path from a flag under which everything lives, as it stands before `/v1`: empty for none. */
export function pathFlag(name: string, text: string): string {
  // Other characters mean something to the router, or are sent in another spelling.
  if (/^(?:\/[\w.~-]+)*\/?$/.test(text)) return text.replace(/\/$/, '')
  throw new Misuse(`expected --${name} to be a path like /search-api, got ${text}`)
}

/** A day from a flag, as the clock of answers that move. */
export function dayFlag(name: string, text: string | undefined): (() => Date) | undefined {
  if (text === undefined) return undefined
  if (isDay(text)) return () => new Date(`${text}T12:00:00Z`)
  throw new Misuse(`expected --${name} to be a day like 2026-01-31, got ${text}`)
}
