import { scaleLinear, scaleUtc } from 'd3-scale'
import { line } from 'd3-shape'
import { html, type Html } from './html.ts'

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
  readonly width: number
  readonly height: number
  /** From the bottom to the top of the picture: ranks begin at the great number. */
  readonly range: readonly [number, number]
  readonly format: (value: number) => string
  readonly ticks?: readonly number[]
  /** A line across, such as the credits that must stay. */
  readonly mark?: { readonly value: number; readonly name: string }
  /** True: names stand at the ends of the lines. */
  readonly named?: boolean
}

const margin = { top: 12, bottom: 26, left: 48 }

/** Lines over time as an inline picture: no script, colours by class, the same on paper. */
export function lineChart(chart: LineChart): Html {
  const { width, height, series, range, title } = chart
  const right = chart.named === true ? 170 : 12
  const times = series.flatMap(({ points }) => points.map(({ at }) => at.getTime()))
  const first = Math.min(...times)
  const last = Math.max(...times)
  const x = scaleUtc()
    // A single day has no width of its own.
    .domain([new Date(first), new Date(last > first ? last : first + 86_400_000)])
    .range([margin.left, width - right])
  const y = scaleLinear()
    .domain([...range])
    .range([height - margin.bottom, margin.top])
  const ticks = chart.ticks ?? y.ticks(5)
  const labels = tickLabels(last - first)
  return html`<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">
    <title>${title}</title>
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
    ${x
      .ticks(Math.max(2, Math.floor((width - right) / 130)))
      .map(
        (tick) =>
          html`<text class="tick" x="${round(x(tick))}" y="${height - 8}" text-anchor="middle"
            >${labels.format(tick)}</text
          >`,
      )}
    ${markLine(chart, y, width - right)} ${series.map((one, index) => path(one, index, { x, y }))}
    ${chart.named === true ? names(chart, { x, y }) : null}
  </svg>`
}

/** Days, or times of the day where all happened within two. */
function tickLabels(spanMs: number): Intl.DateTimeFormat {
  return spanMs > 2 * 86_400_000
    ? new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
    : new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' })
}

interface Scales {
  readonly x: (at: Date) => number
  readonly y: (value: number) => number
}

function path({ name, points }: Series, index: number, { x, y }: Scales): Html {
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
  return html`<g class="series c${index % 8}"
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
  const gap = 14
  let lowest = Number.POSITIVE_INFINITY
  const placed = ends
    .toSorted((a, b) => b.y - a.y)
    .map((end) => {
      lowest = Math.min(end.y, lowest - gap, height - margin.bottom)
      return { ...end, y: lowest }
    })
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

/** A name that fits beside a picture. */
function shorten(name: string, most = 24): string {
  const characters = [...name]
  return characters.length <= most ? name : `${characters.slice(0, most - 1).join('')}…`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
