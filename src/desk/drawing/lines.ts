// Draws line charts over time as SVG, with the axis that the rank chart shares.

import { scaleLinear, type ScaleTime, scaleUtc } from 'd3-scale'
import { line } from 'd3-shape'
import { type Cell, csvLines } from '../../base/csv.ts'
import { dayMs, dayOf } from '../../base/time/zone.ts'
import type { Note } from '../../features/analysis/notes.ts'
import { type Html, html } from './html.ts'
import { scrolled } from './parts.ts'

export interface Point {
  readonly at: Date
  /** Null for a gap in the line. */
  readonly value: number | null
}

export interface Series {
  readonly name: string
  readonly points: readonly Point[]
}

export interface LineChart {
  /** Description of the chart in a sentence, for screen readers. */
  readonly title: string
  readonly series: readonly Series[]
  readonly grain: Grain
  readonly width: number
  readonly height: number
  /** Values at the bottom and top of the chart; for ranks, the bottom is the higher number. */
  readonly range: readonly [number, number]
  readonly format: (value: number) => string
  readonly ticks?: readonly number[]
  /** A horizontal line, such as the credit floor. */
  readonly mark?: { readonly value: number; readonly name: string }
  readonly notes?: readonly Note[]
  readonly events?: readonly Happening[]
  readonly bands?: readonly Band[]
  /** If true, points carry data that a script shows on hover. */
  readonly hover?: boolean
  /** If true, names are shown at the ends of the lines. */
  readonly named?: boolean
}

const margin = { top: 12, bottom: 26, left: 48 }

/** Draws lines over time as an inline chart: without scripts, colored by class, also for printing. */
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

// Character width at the font size of labels, rounded up so that labels are not cut off.
const letterWidth = 6.5

/** Centered below its point, or as close as the edge allows. */
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
  // A point between two gaps has no line, so draw it as a dot.
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

/** Names next to the ends of their lines, moved apart to avoid overlaps. */
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

/** Moves labels apart within the two bounds; if there are too many, they are closer together. */
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

/** Shortens a name to fit next to a chart. */
function shorten(name: string, most = 24): string {
  const characters = [...name]
  return characters.length <= most ? name : `${characters.slice(0, most - 1).join('')}…`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

/** A wide, scrollable chart, with a link to its figures. */
export function drawPicture(
  chart: LineChart,
  { name = chart.title, seen = 'end' }: { name?: string; seen?: 'end' | 'beginning' } = {},
): Html {
  return html`${scrolled(name, lineChart(chart), seen)} ${figuresOf(chart)}`
}

/** A chart that fits on any page, with a link to its figures. */
export function drawSmall(chart: LineChart): Html {
  return html`${lineChart(chart)} ${figuresOf(chart)}`
}

/**
 * Link to a chart's figures as CSV embedded in the page, so that a report needs neither server nor script. The first
 * row has the column names.
 */
export function figuresLink(title: string, rows: readonly (readonly Cell[])[]): Html {
  const text = encodeURIComponent(csvLines(rows).toWellFormed())
  return html`<p class="figures">
    <a
      href="data:text/csv;charset=utf-8,${text}"
      download="${fileName(title)}"
      aria-label="Figures as CSV: ${title}"
      >Figures as CSV</a
    >
  </p>`
}

function figuresOf({ title, series, grain }: LineChart): Html {
  const head = [grain === 'day' ? 'day' : 'at', ...series.map(({ name }) => name)]
  return figuresLink(title, [head, ...rowsOf(series, grain)])
}

/** One row per time, one column per line; if a line has two values for a time, there are two rows. */
function rowsOf(series: readonly Series[], grain: LineChart['grain']): readonly Cell[][] {
  const found = new Map<string, { readonly at: Date; readonly values: Cell[] }>()
  for (const [column, { points }] of series.entries()) {
    const times = new Map<number, number>()
    for (const { at, value } of points) {
      const before = times.get(at.getTime()) ?? 0
      times.set(at.getTime(), before + 1)
      const key = `${at.getTime()} ${before}`
      const row = found.get(key) ?? { at, values: series.map(() => null) }
      row.values[column] = value
      found.set(key, row)
    }
  }
  return [...found.values()]
    .toSorted((a, b) => a.at.getTime() - b.at.getTime())
    .map(({ at, values }) => [
      grain === 'day' ? at.toISOString().slice(0, 10) : at.toISOString(),
      ...values,
    ])
}

// Some systems limit the length of file names.
const longestName = 80

function fileName(title: string): string {
  const words = title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
  return `${[...words].slice(0, longestName).join('') || 'figures'}.csv`
}

type Grain = 'day' | 'instant'

interface TimeAxis {
  readonly grain: Grain
  readonly times: readonly number[]
  readonly range: readonly [number, number]
}

interface Label {
  readonly at: number
  readonly text: string
}

/** Time scale from left to right; a single point is centered. */
export function timeScale({ times, range }: TimeAxis): ScaleTime<number, number> {
  return scaleUtc()
    .domain([new Date(Math.min(...times)), new Date(Math.max(...times))])
    .range([...range])
}

/** Labels of the time axis: days if points are days; consecutive labels are never equal. */
export function timeLabels(
  { grain, times, range }: TimeAxis,
  x: ScaleTime<number, number>,
): readonly Label[] {
  const ticks = x.ticks(Math.max(2, Math.floor((range[1] - range[0]) / 110)))
  const days = grain === 'day' || Math.max(...times) - Math.min(...times) > 2 * dayMs
  // Skips ticks that would need hours on a daily axis, or fractions of a second.
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
const dateInUtc = inUtc({ day: 'numeric', month: 'short', year: 'numeric' })
const minute = inUtc({ hour: '2-digit', minute: '2-digit' })
const second = inUtc({ hour: '2-digit', minute: '2-digit', second: '2-digit' })

/** Formats labels as short as possible: with the year if days repeat, with seconds if minutes are not exact. */
function wordsFor(days: boolean, ticks: readonly Date[]): readonly string[] {
  if (days) {
    const spanMs = Number(ticks.at(-1) ?? 0) - Number(ticks[0] ?? 0)
    return ticks.map(spanMs < 365 * dayMs ? day : dateInUtc)
  }
  const time = ticks.every((tick) => tick.getTime() % 60_000 === 0) ? minute : second
  return ticks.map((tick) => (tick.getTime() % dayMs === 0 ? day(tick) : time(tick)))
}

/** A day for which the chart omits something, and why. */
export interface Band {
  readonly at: Date
  readonly name: string
}

/** Days within the chart's period; those before its first point would only make it smaller. */
function shownBands(bands: readonly Band[], times: readonly number[]): readonly Band[] {
  const first = Math.min(...times)
  return bands.filter(({ at }) => at.getTime() >= first)
}

// Minimum width in pixels, so that a day is visible in a long period.
const narrowest = 3

/** A light band over the full height behind the lines, for one day. */
function bandOf(
  { at, name }: Band,
  x: (at: Date) => number,
  { left, right, top, bottom }: Readonly<Record<'left' | 'right' | 'top' | 'bottom', number>>,
): Html {
  const [from, to] = [-dayMs / 2, dayMs / 2].map((half) => x(new Date(at.getTime() + half)))
  const middle = x(at)
  const start = Math.max(left, Math.min(from ?? middle, middle - narrowest / 2))
  const end = Math.min(right, Math.max(to ?? middle, middle + narrowest / 2))
  const box = { x: start.toFixed(1), y: top, width: (end - start).toFixed(1), height: bottom - top }
  return html`<rect
    class="band"
    x="${box.x}"
    y="${box.y}"
    width="${box.width}"
    height="${box.height}"
    ><title>${name}</title></rect
  >`
}

/** An event at some time, such as a top-up or a renewal. */
interface Happening {
  readonly at: Date
  readonly name: string
}

interface Frame {
  readonly x: (at: Date) => number
  readonly top: number
  readonly bottom: number
  /** First and last time of the chart. */
  readonly within: readonly [number, number]
}

/** A vertical line with an arrow at its top for each event. */
function eventMarks(events: readonly Happening[], frame: Frame): readonly Html[] {
  const { x, top, bottom, within } = frame
  return events
    .filter(({ at }) => at.getTime() >= within[0] && at.getTime() <= within[1])
    .map(({ at, name }) => {
      const place = Math.round(x(at) * 10) / 10
      const arrow = `M${place - 5},${top + 7}L${place},${top - 1}L${place + 5},${top + 7}Z`
      return html`<g class="event"
        ><title>${name}</title
        ><line class="mark" x1="${place}" x2="${place}" y1="${top}" y2="${bottom}" /><path
          d="${arrow}"
      /></g>`
    })
}

interface HoverPoints {
  readonly name: string
  readonly points: readonly { readonly at: Date; readonly value: number | null }[]
}

interface Drawing {
  readonly x: (at: Date) => number
  readonly y: (value: number) => number
  readonly grain: 'day' | 'instant'
  readonly format: (value: number) => string
}

/** Position and text of each point, as an escaped attribute of the line. */
function hoverPoints({ name, points }: HoverPoints, { x, y, grain, format }: Drawing): Html {
  const told = points.flatMap(({ at, value }) => {
    if (value === null) return []
    const when = at
      .toISOString()
      .slice(0, grain === 'day' ? 10 : 16)
      .replace('T', ' ')
    return [[Math.round(x(at)), Math.round(y(value)), `${when}: ${format(value)}`]]
  })
  return html` data-name="${name}" data-points="${JSON.stringify(told)}"`
}

/** Analysts' notes, numbered as in the charts. */
export function noteList(notes: readonly Note[]): Html | null {
  if (notes.length === 0) return null
  return html`<section>
    <h2>Notes</h2>
    <p class="soft">Marked by their numbers in every picture over time.</p>
    <ol>
      ${notes.map(
        ({ date, text, tag }) =>
          html`<li>
            ${date}: ${text}${tag === '*' ? null : html` <span class="soft">${tag}</span>`}
          </li>`,
      )}
    </ol>
  </section>`
}

interface NoteFrame {
  readonly x: (at: Date) => number
  /** First and last time of the chart. */
  readonly within: readonly [number, number]
  readonly top: number
  readonly bottom: number
}

/** A vertical line for each note within the chart's period. */
export function noteMarks(notes: readonly Note[], { x, within, top, bottom }: NoteFrame): Html[] {
  return notes.flatMap(({ date, text }, index) => {
    const at = dayOf(date)
    if (at.getTime() < within[0] || at.getTime() > within[1]) return []
    const place = Math.round(x(at) * 10) / 10
    return [
      html`<g class="note"
        ><title>${date}: ${text}</title
        ><line class="mark" x1="${place}" x2="${place}" y1="${top}" y2="${bottom}" /><text
          class="tick"
          x="${place + 3}"
          y="${top + 8}"
          >${index + 1}</text
        ></g
      >`,
    ]
  })
}
