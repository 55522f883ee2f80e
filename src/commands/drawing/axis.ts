import { scaleUtc, type ScaleTime } from 'd3-scale'
import { dayMs } from '../../shared/time/duration.ts'

/** What a point of a picture stands for. */
export type Grain = 'day' | 'instant'

export interface TimeAxis {
  readonly grain: Grain
  /** From the first point to the last one. */
  readonly times: readonly number[]
  /** Where the first and the last point stand. */
  readonly range: readonly [number, number]
}

export interface Label {
  readonly at: number
  readonly text: string
}

/** Time from left to right; a single point stands in the middle. */
export function timeScale({ times, range }: TimeAxis): ScaleTime<number, number> {
  return scaleUtc()
    .domain([new Date(Math.min(...times)), new Date(Math.max(...times))])
    .range([...range])
}

/** What stands below: days where points are days, and never the same words twice in a row. */
export function timeLabels(
  { grain, times, range }: TimeAxis,
  x: ScaleTime<number, number>,
): readonly Label[] {
  const ticks = x.ticks(Math.max(2, Math.floor((range[1] - range[0]) / 110)))
  const days = grain === 'day' || Math.max(...times) - Math.min(...times) > 2 * dayMs
  // No label says hours of a day, nor parts of a second: where one would have to, there is none.
  const exact = ticks.filter((tick) => tick.getTime() % (days ? dayMs : 1000) === 0)
  const shown = exact.length > 0 ? exact : ticks.slice(0, 1)
  const texts = wordsFor(days, shown)
  return shown.map((tick, index) => ({ at: x(tick), text: texts[index] ?? '' }))
}

const inUtc = (options: Intl.DateTimeFormatOptions) => {
  const format = new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' })
  return (at: Date) => format.format(at)
}
const day = inUtc({ day: 'numeric', month: 'short' })
const date = inUtc({ day: 'numeric', month: 'short', year: 'numeric' })
const minute = inUtc({ hour: '2-digit', minute: '2-digit' })
const second = inUtc({ hour: '2-digit', minute: '2-digit', second: '2-digit' })

/** No more than it takes: a year where days come again, seconds where minutes would not be exact. */
function wordsFor(days: boolean, ticks: readonly Date[]): readonly string[] {
  if (days) {
    const spanMs = Number(ticks.at(-1) ?? 0) - Number(ticks[0] ?? 0)
    return ticks.map(spanMs < 365 * dayMs ? day : date)
  }
  const time = ticks.every((tick) => tick.getTime() % 60_000 === 0) ? minute : second
  return ticks.map((tick) => (isMidnight(tick) ? day(tick) : time(tick)))
}

function isMidnight(at: Date): boolean {
  return at.getTime() % dayMs === 0
}
