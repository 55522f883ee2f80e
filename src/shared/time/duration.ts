export const dayMs = 86_400_000

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: dayMs,
  w: 604_800_000,
}

/** A hundred years: older than any answer, and a span that a database can still take off the present. */
const longest = 36_500 * dayMs

/** Reads `12h`, `90s`, `30d` or a plain `0`. Null when the text is no duration, or one of more than 36500 days. */
export function readDuration(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/.exec(text.trim())
  if (match === null) return /^0+$/.test(text.trim()) ? 0 : null
  const duration = Math.round(Number(match[1]) * (units[match[2] ?? ''] ?? Number.NaN))
  return duration <= longest ? duration : null
}
