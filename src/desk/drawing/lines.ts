// Draws line charts over time as SVG, and the axis that the rank chart also uses.

import { scaleLinear, type ScaleTime, scaleUtc } from 'd3-scale'
import { line } from 'd3-shape'
import { type Cell, csvLines } from '../../base/csv.ts'
import { dayMs, dayOf } from '../../base/time/zone.ts'
import type { Note } from '../../features/analysis/notes.ts'
import { element, type Html, html, tenths } from './html.ts'
import { scrolled } from './parts.ts'

interface Point {
  readonly at: Date
  /** Null for a gap in the line. */
  readonly value: number | null
  /** Text shown on hover instead of the value. */
  readonly words?: string
  readonly hollow?: boolean
}

export interface Series {
  readonly name: string
  readonly points: readonly Point[]
}

export interface LineChart {
  /** One-sentence description of the chart, for screen readers. */
  readonly title: string
  readonly series: readonly Series[]
  readonly grain?: 'day' | 'instant'
  readonly width?: number
  readonly height: number
  /** Values at the bottom and at the top of the chart. */
  readonly range: readonly [number, number]
  readonly format: (value: number) => string
  readonly ticks?: readonly number[]
  /** A horizontal line, such as the credit floor. */
  readonly mark?: { readonly value: number; readonly name: string }
  readonly notes?: readonly Note[]
  readonly events?: readonly Happening[]
  /** Days whose data is omitted from the chart, each with the reason. */
  readonly bands?: readonly Happening[]
  /** Days without a point, each with the reason. */
  readonly gaps?: readonly Happening[]
  readonly spots?: boolean
  /** Adds data that a script shows when a user hovers over a point. */
  readonly hover?: boolean
  readonly named?: boolean
}

export interface Happening {
  readonly at: Date
  readonly name: string
}

interface Frame {
  readonly x: ScaleTime<number, number>
  readonly y: (value: number) => number
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

/** Draws a line chart as printable inline SVG without scripts; CSS classes set the colors. */
export function lineChart({ width = 1040, ...chart }: LineChart): Html {
  const { height, series, range, title, format } = chart
  const edges = {
    left: 48,
    right: width - (chart.named === true ? 170 : 12),
    top: 12,
    bottom: height - 26,
  }
  const drawn = series.flatMap(({ points }) => points.map(({ at }) => at.getTime()))
  // Days before the first point are omitted, because they would only leave empty space.
  const bands = (chart.bands ?? []).filter(({ at }) => at.getTime() >= Math.min(...drawn))
  const times = [...drawn, ...bands.map(({ at }) => at.getTime())]
  const within = [Math.min(...times), Math.max(...times)] as const
  // A single point is centered.
  const x = scaleUtc().domain(within).range([edges.left, edges.right])
  const y = scaleLinear()
    .domain([...range])
    .range([edges.bottom, edges.top])
  const frame = { x, y, ...edges }
  return html`<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">
    <title>${title}</title>
    ${bands.map((band) => bandOf(band, frame))}
    ${(chart.ticks ?? y.ticks(5)).map((tick) => gridLine(edges, y(tick), format(tick)))}
    ${timeLabels(chart.grain, frame).map(({ at, text }) => {
      // Centers the label below its point, but keeps the label within the chart.
      const half = (text.length * letterWidth) / 2
      const middle = Math.max(half, Math.min(at, width - half))
      const spot = { x: middle, y: height - 8, 'text-anchor': 'middle' }
      return element('text', { class: 'tick time', ...spot }, text)
    })}
    ${(chart.gaps ?? []).map(({ at, name }) => upright('unanswered', x(at), { ...frame, name }))}
    ${marks('note', (chart.notes ?? []).map(noteMark), frame)}
    ${marks('event', chart.events ?? [], frame)} ${markLine(chart, frame)}
    ${series.map((one, index) => path(one, index, { ...frame, ...chart }))}
    ${chart.named === true ? names(chart, frame) : null}
  </svg>`
}

function gridLine({ left, right }: Pick<Frame, 'left' | 'right'>, y: number, text: string): Html {
  const place = { x: left - 6, y, dy: '0.32em', 'text-anchor': 'end' }
  return html`${element('line', { class: 'grid', x1: left, x2: right, y1: y, y2: y })}
  ${element('text', { class: 'tick', ...place }, text)}`
}

// Character width at the labels' font size, rounded up so that labels are not cut off.
const letterWidth = 6.5

function path(
  { name, points }: Series,
  index: number,
  { x, y, grain = 'day', format, hover = false, spots = false }: Frame & LineChart,
): Html {
  const draw = line<Point>()
    .defined(({ value }) => value !== null)
    .x(({ at }) => tenths(x(at)))
    .y(({ value }) => tenths(y(value ?? 0)))
  const valueAt = (nth: number) => points[nth]?.value ?? null
  const shown = points.flatMap(({ at, value, words, hollow = false }, nth) => {
    if (value === null) return []
    const when = at.toISOString().slice(0, grain === 'day' ? 10 : 16)
    const text = `${when.replace('T', ' ')}: ${words ?? format(value)}`
    const lonely = valueAt(nth - 1) === null && valueAt(nth + 1) === null
    return [{ cx: x(at), cy: y(value), text, lonely, hollow }]
  })
  const told = shown.map(({ cx, cy, text }) => [Math.round(cx), Math.round(cy), text])
  // A point between two gaps has no line, so it is drawn as a dot.
  const dots = shown
    .filter(({ lonely }) => spots || lonely)
    .map(({ cx, cy, text, hollow }) => {
      const look = spots ? { class: hollow ? 'spot reused' : 'spot', r: 3.2 } : { r: 2.5 }
      return element('circle', { cx, cy, ...look }, element('title', {}, `${name}, ${text}`))
    })
  return element(
    'g',
    {
      class: `series c${index % 8}`,
      'data-name': hover ? name : null,
      'data-points': hover ? JSON.stringify(told) : null,
    },
    element('title', {}, name),
    element('path', { d: draw([...points]) ?? '' }),
    dots,
  )
}

function markLine({ mark }: LineChart, { y, left, right }: Frame): Html | null {
  if (mark === undefined) return null
  const at = y(mark.value)
  const place = { x: right, y: at - 5, 'text-anchor': 'end' }
  return html`${element('line', { class: 'mark', x1: left, x2: right, y1: at, y2: at })}
  ${element('text', { class: 'tick', ...place }, mark.name)}`
}

/** Writes names at the ends of their lines, without overlaps. If there are many names, the gaps are smaller. */
function names({ series }: LineChart, { x, y, top, bottom }: Frame): readonly Html[] {
  const ends = series.flatMap(({ name, points }, index) => {
    const end = points.findLast(({ value }) => value !== null)
    return end === undefined ? [] : [{ name, index, x: x(end.at), y: y(end.value ?? 0) }]
  })
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
    const place = { x: end.x + 8, y: highest, dy: '0.32em' }
    return element('text', { class: `name c${end.index % 8}`, ...place }, shorten(end.name))
  })
}

const longestName = 24

function shorten(name: string): string {
  const characters = [...name]
  if (characters.length <= longestName) return name
  return `${characters.slice(0, longestName - 1).join('')}…`
}

interface PictureOptions {
  readonly name?: string
  readonly seen?: 'end' | 'beginning'
  /** Rows of the CSV file, if a chart line needs several columns. */
  readonly figures?: readonly (readonly Cell[])[]
}

/** Draws a wide, scrollable chart, with a link to its figures. */
export function drawPicture(
  chart: LineChart,
  { name = chart.title, seen = 'end', figures = figuresOf(chart) }: PictureOptions = {},
): Html {
  return html`${scrolled(name, lineChart({ hover: true, ...chart }), seen)}
  ${figuresLink(chart.title, figures)}`
}

/** Draws a chart of daily values, with a scale from zero to the greatest value or to `least`, whichever is greater. */
export function drawDays({
  least = 1,
  whole = false,
  ...chart
}: Pick<LineChart, 'title' | 'series' | 'format' | 'notes' | 'bands'> & {
  readonly height?: number
  readonly least?: number
  /** True if all values, and therefore all ticks, are whole numbers. */
  readonly whole?: boolean
}): Html {
  const values = chart.series.flatMap(({ points }) => points.map(({ value }) => value ?? 0))
  const greatest = Math.max(least, ...values)
  const step = Math.max(1, Math.ceil(greatest / 4))
  const ticks = [0, 1, 2, 3, 4].map((n) => n * step).filter((tick) => tick <= greatest * 1.05)
  return drawPicture({
    ...{ height: 260, named: true },
    range: [0, greatest * 1.05],
    ...(whole ? { ticks } : {}),
    ...chart,
  })
}

export function dayLine<Day extends { readonly runDate: string }>(
  name: string,
  days: readonly Day[],
  valueOf: (day: Day) => number | null,
): Series {
  return { name, points: days.map((day) => ({ at: dayOf(day.runDate), value: valueOf(day) })) }
}

export function drawSmall(chart: LineChart): Html {
  return html`${lineChart(chart)} ${figuresLink(chart.title, figuresOf(chart))}`
}

/** Link to a chart's figures as CSV. The page contains the CSV, so a report needs no server and no scripts. */
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

/** Builds one row per time, with one column per line. If a line has two values for a time, that time has two rows. */
function figuresOf({ series, grain = 'day' }: LineChart): readonly (readonly Cell[])[] {
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
  const rows = [...found.values()]
    .toSorted((a, b) => a.at.getTime() - b.at.getTime())
    .map(({ at, values }) => [
      at.toISOString().slice(0, grain === 'day' ? 10 : undefined),
      ...values,
    ])
  return [[grain === 'day' ? 'day' : 'at', ...series.map(({ name }) => name)], ...rows]
}

// Some systems do not allow longer file names.
const longestFileName = 80

function fileName(title: string): string {
  const words = title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
  return `${[...words].slice(0, longestFileName).join('') || 'figures'}.csv`
}

/** Labels for the time axis. Consecutive labels are never equal. */
function timeLabels(grain: LineChart['grain'], { x, left, right }: Frame) {
  const ticks = x.ticks(Math.max(2, Math.floor((right - left) / 110)))
  const [first = 0, last = 0] = x.domain().map(Number)
  const days = grain !== 'instant' || last - first > 2 * dayMs
  // Keeps only ticks at whole days if the axis shows days, or at whole seconds otherwise.
  const exact = ticks.filter((tick) => tick.getTime() % (days ? dayMs : 1000) === 0)
  const shown = exact.length > 0 ? exact : ticks.slice(0, 1)
  const spanMs = Number(shown.at(-1) ?? 0) - Number(shown[0] ?? 0)
  const whole = shown.every((tick) => tick.getTime() % 60_000 === 0)
  // Labels show years only if days repeat, and seconds only if some times are not whole minutes.
  const day = x.tickFormat(0, spanMs < 365 * dayMs ? '%-d %b' : '%-d %b %Y')
  const time = x.tickFormat(0, whole ? '%H:%M' : '%H:%M:%S')
  return shown.map((tick) => ({
    at: x(tick),
    text: days || tick.getTime() % dayMs === 0 ? day(tick) : time(tick),
  }))
}

// Minimum width in pixels, which keeps a single day visible in a long period.
const narrowest = 3

function bandOf({ at, name }: Happening, { x, left, right, top, bottom }: Frame): Html {
  const edge = (halves: number) => x(new Date(at.getTime() + (halves * dayMs) / 2))
  const start = Math.max(left, Math.min(edge(-1), x(at) - narrowest / 2))
  const end = Math.min(right, Math.max(edge(1), x(at) + narrowest / 2))
  return element(
    'rect',
    { class: 'band', x: start, y: top, width: end - start, height: bottom - top },
    element('title', {}, name),
  )
}

function upright(
  kind: 'mark' | 'unanswered',
  x: number,
  { top, bottom, name }: Frame & { readonly name?: string },
) {
  const title = name === undefined ? null : element('title', {}, name)
  return element('line', { class: kind, x1: x, x2: x, y1: top, y2: bottom }, title)
}

/** Draws vertical lines: numbered for notes, with arrows for events. Omits dates outside the chart's period. */
function marks(kind: 'note' | 'event', shown: readonly Happening[], frame: Frame) {
  const { top, x: scale } = frame
  const [first = 0, last = 0] = scale.domain()
  return shown.map(({ at, name }, index) => {
    if (at < first || at > last) return null
    const x = tenths(scale(at))
    const sign =
      kind === 'note'
        ? element('text', { class: 'tick', x: x + 3, y: top + 8 }, index + 1)
        : element('path', { d: `M${x - 5},${top + 7}L${x},${top - 1}L${x + 5},${top + 7}Z` })
    return element(
      'g',
      { class: kind },
      element('title', {}, name),
      upright('mark', x, frame),
      sign,
    )
  })
}

const noteMark = ({ date, text }: Note) => ({ at: dayOf(date), name: `${date}: ${text}` })

export function noteList(notes: readonly Note[]): Html | null {
  if (notes.length === 0) return null
  return html`<section>
    <h2>Notes</h2>
    <p class="soft">Every chart over time marks these notes by number.</p>
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
