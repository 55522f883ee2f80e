import { fraction } from '../random.ts'
import { dayMs } from '../../shared/time/duration.ts'

/** How answers move from day to day, for histories that are made rather than lived through. */
export interface Drift {
  /** False: answers stand still, as they do unless the operator asks for histories. */
  readonly moves: boolean
  /** Puts the pages of a query, best first, into the order of the day; some are away on some days. */
  rank<Page extends { readonly url: string }>(q: string, pages: readonly Page[]): Page[]
}

/** Answers that stand still. */
export const noDrift: Drift = { moves: false, rank: (_q, pages) => [...pages] }

// How many places a page wanders, at the top and further down: the first place is the steadiest.
const restlessness = { top: 0.6, below: 0.35 }
const awayShare = 0.04
const stretchDays = 6

/** How many queries of a calm drift move every day, and within how many days the others do. */
const calmness = { restless: 0.15, least: 4, most: 60 }

/**
 * Answers as of a day that the operator sets: the same seed and day always give the same order. Where it is calm, most
 * queries stand still for days or weeks, each at its own pace, as real ones do.
 */
export function openDrift(seed: string, today: () => Date, calm = false): Drift {
  return {
    moves: true,
    rank(q, pages) {
      const now = Math.floor(today().getTime() / dayMs)
      const day = calm ? lastMove(`${seed}\n${q}`, now) : now
      return pages
        .map((page, index) => ({ page, place: wander(`${seed}\n${q}\n${page.url}`, index, day) }))
        .filter(({ place }) => Number.isFinite(place))
        .toSorted((a, b) => a.place - b.place)
        .map(({ page }) => page)
    },
  }
}

/** The day on which a query last moved. */
function lastMove(name: string, day: number): number {
  if (fraction(`${name} restless`) < calmness.restless) return day
  const { least, most } = calmness
  const pace = least + Math.floor((most - least) * fraction(`${name} pace`))
  const phase = Math.floor(pace * fraction(`${name} phase`))
  return Math.floor((day + phase) / pace) * pace - phase
}

/** A slow swing, a quick one and the noise of one day; and now and then a page is gone for some days. */
function wander(name: string, index: number, day: number): number {
  const phase = fraction(`${name} phase`)
  const stretch = Math.floor(day / stretchDays + phase)
  if (fraction(`${name} away ${stretch}`) < awayShare * Math.min(1, index / 3)) return Infinity
  const slow = Math.sin((day / (11 + 20 * phase) + phase) * 2 * Math.PI)
  const quick = Math.sin((day / (3 + 4 * phase) + 2 * phase) * 2 * Math.PI)
  const noise = 2 * fraction(`${name} ${day}`) - 1
  const reach = restlessness.top + restlessness.below * index
  return index + reach * (0.9 * slow + 0.3 * quick + 0.5 * noise)
}
