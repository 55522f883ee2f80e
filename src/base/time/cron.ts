// Parses cron patterns and computes due times.

import { CronExpressionParser, type CronExpression } from 'cron-parser'
import cronstrue from 'cronstrue'
import { formatDate, instantsOf, largestJump, wallTime } from './zone.ts'
import { reasonOf } from '../errors.ts'

/** A validated pattern of five fields: minute, hour, day of month, month, day of week. */
export interface Cron {
  readonly pattern: string
  readonly sentence: string
  readonly everyHour: boolean
}

/** A due time, and the local date that it counts for. */
export interface Due {
  readonly at: Date
  readonly date: string
}

type CronReading =
  | { readonly kind: 'cron'; readonly cron: Cron }
  | { readonly kind: 'problem'; readonly problem: string }

const example = 'write five fields, like "0 3 * * *" for 03:00 every day'
const limits = [60, 24, 31, 12, 7] as const

/** Parses a pattern of exactly five fields. The parser would silently misinterpret four or six fields. */
export function readCron(text: string): CronReading {
  const fields = text.trim().split(/\s+/)
  const pattern = fields.join(' ')
  const got = `got ${JSON.stringify(text)}`
  if (text.trim() === '' || fields.length !== 5) {
    const count = text.trim() === '' ? 0 : fields.length
    return problem(`expected five cron fields, ${got} (${count}); ${example}`)
  }
  // Rejects forms that programs interpret differently: ?, H (a random value), and steps longer than the field.
  if (/[^\d*,/\-#a-z ]/i.test(pattern) || /\bH/i.test(pattern)) {
    return problem(`expected only digits, names, "*", ",", "-" and "/" in a cron pattern, ${got}`)
  }
  const step = fields.findIndex((field, index) => longestStep(field) >= (limits[index] ?? 0))
  if (step !== -1) {
    return problem(
      `expected a step below ${limits[step]} in cron field ${step + 1}, ${got}; a step never crosses into the next hour or day`,
    )
  }
  try {
    const expression = CronExpressionParser.parse(pattern, { tz: 'UTC' })
    expression.next()
    const sentence = cronstrue.toString(pattern, { use24HourTimeFormat: true })
    const everyHour = expression.fields.hour.values.length === 24
    return { kind: 'cron', cron: { pattern, sentence, everyHour } }
  } catch (error) {
    return problem(`expected a cron pattern, ${got}: ${reasonOf(error)}; ${example}`)
  }
}

function problem(text: string): CronReading {
  return { kind: 'problem', problem: text }
}

function longestStep(field: string): number {
  return Math.max(0, ...[...field.matchAll(/\/(\d+)/g)].map((match) => Number(match[1])))
}

const expressions = new WeakMap<Cron, CronExpression>()

/** Caches parsed patterns, because most checks find no due time and parsing would dominate their cost. */
function expressionOf(cron: Cron): CronExpression {
  const known = expressions.get(cron) ?? CronExpressionParser.parse(cron.pattern, { tz: 'UTC' })
  expressions.set(cron, known)
  return known
}

/**
 * Returns all due times after `after` and up to `until` in the zone, oldest first.
 *
 * The parser computes local times without clock changes. These times are then interpreted in the zone. If the clocks
 * skip a time, the time is moved forward by the length of the jump. A time that occurs twice is due only the first
 * time, unless the pattern names every hour. Each local date thus has one night. (The parser alone would skip 02:00 in
 * Australia/Lord_Howe when the clock jumps from 02:00 to 02:30.)
 */
export function dueBetween(cron: Cron, zone: string, span: { after: Date; until: Date }): Due[] {
  const { after, until } = span
  const margin = largestJump(zone, span)
  const start = wallTime(zone, after) - margin
  const end = wallTime(zone, until) + margin
  const expression = expressionOf(cron)
  expression.reset(new Date(start - 1))
  const found = new Map<number, Due>()
  for (let wall = expression.next().getTime(); wall <= end; wall = expression.next().getTime()) {
    const instants = instantsOf(zone, wall)
    for (const at of cron.everyHour ? instants : instants.slice(0, 1)) {
      if (at <= after.getTime() || at > until.getTime()) continue
      // If a skipped time coincides with a later due time, both become one night, with the date of the later time.
      found.set(at, { at: new Date(at), date: formatDate(wall) })
    }
  }
  return [...found.values()].toSorted((a, b) => a.at.getTime() - b.at.getTime())
}

const hour = 3_600_000
const windows = [2 * hour, 49 * hour, 70 * 24 * hour, 400 * 24 * hour, 3000 * 24 * hour]

export function nextDues(cron: Cron, zone: string, from: { after: Date; count: number }): Due[] {
  const found: Due[] = []
  let { after } = from
  for (const window of windows) {
    const until = new Date(after.getTime() + window)
    found.push(...dueBetween(cron, zone, { after, until }))
    if (found.length >= from.count) break
    after = until
  }
  return found.slice(0, from.count)
}

/** Returns the next due time, or null if the pattern is never due in the coming years. */
export function nextAfter(cron: Cron, zone: string, date: Date): Date | null {
  return nextDues(cron, zone, { after: date, count: 1 })[0]?.at ?? null
}
