import { dueBetween, nextAfter, type Cron } from '../shared/time/cron.ts'
import { dayMs } from '../shared/time/duration.ts'
import { formatDate, instantsOf, wallTime } from '../shared/time/zone.ts'

/** A month of an account: the day on which it began, and the moment at which it ends. */
export interface Month {
  readonly month: string
  readonly ends: number
}

/** How far back the last renewal is looked for: plans of a month first, then of a year, then a leap day's. */
const lookbacks = [62, 400, 3000].map((days) => days * dayMs)

/**
 * Finds the month of an instant: from renewal to renewal where the plan's are told, otherwise the calendar's in the zone.
 * What was found is kept until it ends: each look at the gate asks.
 */
export function monthsOf(renewal: Cron | null, zone: string): (time: number) => Month {
  let kept = { from: Infinity, month: '', ends: -Infinity }
  return (time) => {
    if (time < kept.from || time >= kept.ends) {
      kept = renewalMonth(renewal, zone, time) ?? calendarMonth(zone, time)
    }
    return { month: kept.month, ends: kept.ends }
  }
}

function renewalMonth(renewal: Cron | null, zone: string, time: number) {
  if (renewal === null) return null
  const until = new Date(time)
  for (const back of lookbacks) {
    const last = dueBetween(renewal, zone, { after: new Date(time - back), until }).at(-1)
    if (last === undefined) continue
    const ends = nextAfter(renewal, zone, until)?.getTime() ?? Infinity
    return { from: last.at.getTime(), month: formatDate(wallTime(zone, last.at)), ends }
  }
  return null
}

function calendarMonth(zone: string, time: number) {
  const wall = new Date(wallTime(zone, new Date(time)))
  const [first, next] = [0, 1].map((more) =>
    Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth() + more, 1),
  )
  const month = formatDate(first ?? 0)
  const begins = instantsOf(zone, first ?? 0)[0] ?? time
  return { from: begins, month, ends: instantsOf(zone, next ?? 0)[0] ?? time + dayMs }
}
