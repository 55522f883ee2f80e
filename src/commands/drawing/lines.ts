import { scaleLinear } from 'd3-scale'
import { line } from 'd3-shape'
import type { Note } from '../../store/analysis/notes.ts'
import { timeLabels, timeScale, type Grain, type Label } from './axis.ts'
import { bandOf, shownBands, type Band } from './bands.ts'
import { eventMarks, type Happening } from './events.ts'
import { hoverPoints } from './hover.ts'
import { html, type Html } from './html.ts'
import { noteMarks } from './notes.ts'

export interface Point {
  readonly at: Date
  /** Null: a gap in the line. */
  readonly value: number | null
}

export interface Series {
  readonly name: string
  readonly points: readonly Point[]
}

export interface LineChart {
  /** What the picture shows, in a sentence: for those who cannot see it. */
  readonly title: string
  readonly series: readonly Series[]
  readonly grain: Grain
  readonly width: number
  readonly height: number
  /** From the bottom to the top of the picture: ranks begin at the great number. */
  readonly range: readonly [number, number]
  readonly format: (value: number) => string
  readonly ticks?: readonly number[]
  /** A line across, such as the credits that must stay. */
  readonly mark?: { readonly value: number; readonly name: string }
  /** Days that analysts wrote something about. */
  readonly notes?: readonly Note[]
  /** Instants at which something happened. */
  readonly events?: readonly Happening[]
  /** Days of which something is left out. */
  readonly bands?: readonly Band[]
  /** True: each point says what it is, for a script that shows it under the pointer. */
  readonly hover?: boolean
  /** True: names stand at the ends of the lines. */
  readonly named?: boolean
}

const margin = { top: 12, bottom: 26, left: 48 }

/** Lines over time as an inline picture: no script, colours by class, the same on paper. */
export function lineChart(chart: LineChart): Html {
  const { width, height, series, range, title } = chart
  const right = chart.named === true ? 170 : 12
  const drawn = series.flatMap(({ points }) => points.map(({ at }) => at.getTime()))
  const bands = shownBands(chart.bands ?? [], drawn)
  const times = [...drawn, ...bands.map(({ at }) => at.getTime())]
  const span = { grain: chart.grain, times, range: [margin.left, width - right] } as const
  const x = timeScale(span)
  const y = scaleLinear()
    .domain([...range])
    .range([height - margin.bottom, margin.top])
  const within = [Math.min(...times), Math.max(...times)] as const
  const ticks = chart.ticks ?? y.ticks(5)
  const frame = {
    x,
    left: margin.left,
    right: width - right,
    top: margin.top,
    bottom: height - margin.bottom,
  }
  return html`<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">
    <title>${title}</title>
    ${bands.map((band) => bandOf(band, x, frame))}
    ${ticks.map(
      (tick) =>
        html`<line
            class="grid"
            x1="${margin.left}"
            x2="${width - right}"
            y1="${round(y(tick))}"
            y2="${round(y(tick))}"
          />
          <text
            class="tick"
            x="${margin.left - 6}"
            y="${round(y(tick))}"
            dy="0.32em"
            text-anchor="end"
            >${chart.format(tick)}</text
          >`,
    )}
    ${timeLabels(span, x).map((label) => timeLabel(label, chart))}
    ${noteMarks(chart.notes ?? [], { ...frame, within })}
    ${eventMarks(chart.events ?? [], { ...frame, within })} ${markLine(chart, y, width - right)}
    ${series.map((one, index) => path(one, index, { x, y, chart }))}
    ${chart.named === true ? names(chart, { x, y }) : null}
  </svg>`
}

// Of letters and digits in the size of a label: rather too wide than cut.
const letterWidth = 6.5

/** Below its point, or as near to it as the edge allows. */
function timeLabel({ at, text }: Label, { width, height }: LineChart): Html {
  const half = (text.length * letterWidth) / 2
  const x = Math.max(half, Math.min(at, width - half))
  return html`<text class="tick time" x="${round(x)}" y="${height - 8}" text-anchor="middle"
    >${text}</text
  >`
}

interface Scales {
  readonly chart?: LineChart
  readonly x: (at: Date) => number
  readonly y: (value: number) => number
}

function path({ name, points }: Series, index: number, { x, y, chart }: Scales): Html {
  const draw = line<Point>()
    .defined(({ value }) => value !== null)
    .x(({ at }) => round(x(at)))
    .y(({ value }) => round(y(value ?? 0)))
  const shape = draw([...points]) ?? ''
  // A point between two gaps would have no line to be seen by.
  const lonely = points.filter(({ value }, place) => {
    const around = [points[place - 1]?.value ?? null, points[place + 1]?.value ?? null]
    return value !== null && around.every((other) => other === null)
  })
  const told = chart?.hover === true ? hoverPoints({ name, points }, { x, y, ...chart }) : null
  return html`<g class="series c${index % 8}" ${told}
    ><title>${name}</title><path d="${shape}" />${lonely.map(
      ({ at, value }) => html`<circle cx="${round(x(at))}" cy="${round(y(value ?? 0))}" r="2.5" />`,
    )}</g
  >`
}

function markLine({ mark }: LineChart, y: Scales['y'], end: number): Html | null {
  if (mark === undefined) return null
  const at = round(y(mark.value))
  return html`<line class="mark" x1="${margin.left}" x2="${end}" y1="${at}" y2="${at}" />
    <text class="tick" x="${end}" y="${at - 5}" text-anchor="end">${mark.name}</text>`
}

/** Names beside the ends of their lines, moved apart so that none covers another. */
function names({ series, height }: LineChart, { x, y }: Scales): readonly Html[] {
  const ends = series.flatMap(({ name, points }, index) => {
    const end = points.findLast(({ value }) => value !== null)
    if (end === undefined) return []
    return [{ name, index, x: x(end.at), y: y(end.value ?? 0) }]
  })
  const placed = spread(ends, [margin.top, height - margin.bottom])
  return placed.map(
    (end) =>
      html`<text
        class="name c${end.index % 8}"
        x="${round(end.x + 8)}"
        y="${round(end.y)}"
        dy="0.32em"
        >${shorten(end.name)}</text
      >`,
  )
}

/** Moves places apart, no further than to the two ends; what is too much for them stands closer. */
function spread<T extends { readonly y: number }>(
  ends: readonly T[],
  [top, bottom]: readonly [number, number],
): readonly T[] {
  const gap = Math.min(14, (bottom - top) / Math.max(1, ends.length - 1))
  let lowest = bottom + gap
  const raised = ends
    .toSorted((a, b) => b.y - a.y)
    .map((end) => {
      lowest = Math.min(end.y, lowest - gap)
      return { ...end, y: lowest }
    })
  let highest = top - gap
  return raised.toReversed().map((end) => {
    highest = Math.max(end.y, highest + gap)
    return { ...end, y: highest }
  })
}

/** A name that fits beside a picture. */
function shorten(name: string, most = 24): string {
  const characters = [...name]
  return characters.length <= most ? name : `${characters.slice(0, most - 1).join('')}…`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
