// Computes days, hours and time spans in a time zone.

// No zone has ever jumped by more than a day, or changed its clock twice within two days.
const around = 26 * 3_600_000

const formats = new Map<string, Intl.DateTimeFormat>()

/** Days from `since` to `until`, both inclusive. */
export interface DaySpan {
  readonly since: string
  readonly until: string
}

/** Returns the local time in the zone, represented as if it were UTC. */
export function wallTime(zone: string, instant: Date): number {
  const found: Record<string, number> = {}
  for (const { type, value } of formatOf(zone).formatToParts(instant)) found[type] = Number(value)
  const { year = 0, month = 1, day: date = 1, hour = 0, minute = 0, second = 0 } = found
  const millis = ((instant.getTime() % 1000) + 1000) % 1000
  return Date.UTC(year, month - 1, date, hour, minute, second) + millis
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known !== undefined) return known
  const format = new Intl.DateTimeFormat('en', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  formats.set(zone, format)
  return format
}

function offset(zone: string, instant: number): number {
  return wallTime(zone, new Date(instant)) - instant
}

export function localDate(zone: string, instant: Date): string {
  return formatDate(wallTime(zone, instant))
}

export function formatDate(wall: number): string {
  return new Date(wall).toISOString().slice(0, 10)
}

/** Converts a calendar day to a Date at midnight UTC, for charts. */
export function dayOf(day: string): Date {
  return new Date(`${day}T00:00:00Z`)
}

/** Returns the number of days from 1970-01-01 to a day. */
export function dayNumber(day: string): number {
  return dayOf(day).getTime() / dayMs
}

/** True for a valid calendar day; false for `2026-02-30`. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false
  const day = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(day) && formatDate(day) === text
}

/** Formats a local time for display: `2026-10-04 02:30`. */
export function formatMinute(zone: string, instant: Date): string {
  return new Date(wallTime(zone, instant)).toISOString().slice(0, 16).replace('T', ' ')
}

/** Formats an instant in UTC: `2026-10-04 00:30 UTC`. */
export function formatInstant(instant: Date): string {
  return `${formatMinute('UTC', instant)} UTC`
}

/**
 * Returns the instants at which the zone's clocks show a wall time: two if the clocks go back, otherwise one. A
 * wall time that a clock change skips is moved forward by the length of the jump.
 */
export function instantsOf(zone: string, wall: number): readonly number[] {
  const before = offset(zone, wall - around)
  const after = offset(zone, wall + around)
  if (before === after) return [wall - before]
  const real = [wall - before, wall - after]
    .filter((instant) => wallTime(zone, new Date(instant)) === wall)
    .toSorted((a, b) => a - b)
  return real.length === 0 ? [wall - before] : real
}

/** Returns the larger of the zone's offset changes near the two ends of a period. */
export function largestJump(zone: string, span: { after: Date; until: Date }): number {
  const jumps = [span.after, span.until].map((end) => {
    return Math.abs(offset(zone, end.getTime() + around) - offset(zone, end.getTime() - around))
  })
  return Math.max(...jumps)
}

export const dayMs = 86_400_000

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: dayMs,
  w: 604_800_000,
}

/** Longest duration: a hundred years. No answer is older, and the database supports dates that far back. */
const longest = 36_500 * dayMs

/** Parses `12h`, `90s`, `30d` or a plain `0`, or returns null if the text is not a duration or exceeds 36500 days. */
export function readDuration(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/.exec(text.trim())
  if (match === null) return /^0+$/.test(text.trim()) ? 0 : null
  const duration = Math.round(Number(match[1]) * (units[match[2] ?? ''] ?? Number.NaN))
  return duration <= longest ? duration : null
}
