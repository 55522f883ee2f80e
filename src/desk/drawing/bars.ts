// Draws bar charts as SVG, with a table of the same figures.

import { scaleLinear } from 'd3-scale'
import { element, type Html, html } from './html.ts'
import { figuresLink, gridLine } from './lines.ts'
import { scrolled } from './parts.ts'

export interface BarChart {
  readonly title: string
  /** Heading of the column that names the groups. */
  readonly kind: string
  readonly series: readonly string[]
  /** Groups of bars, with one bar per series. A value is null if it is unknown. */
  readonly groups: readonly { readonly name: string; readonly values: readonly (number | null)[] }[]
  readonly format: (value: number) => string
}

const size = { width: 1040, height: 200, left: 48, right: 12, top: 24, bottom: 26 }
const widestBar = 40

export function drawBars(chart: BarChart): Html {
  const { title, kind, series, groups } = chart
  const rows = groups.map(({ name, values }) => [name, ...values])
  return html`${scrolled(title, barChart(chart), 'beginning')}
  ${figuresLink(title, [[kind, ...series], ...rows])}`
}

function barChart({ title, series, groups, format }: BarChart): Html {
  const { width, height, left, right, top, bottom } = size
  const most = Math.max(...groups.flatMap(({ values }) => values.map((value) => value ?? 0)), 0)
  const y = scaleLinear()
    .domain([0, most || 1])
    .nice(5)
    .range([height - bottom, top])
  const step = (width - left - right) / Math.max(1, groups.length)
  const bar = Math.min(widestBar, (step * 0.8) / Math.max(1, series.length))
  const drawn = groups.map(({ name, values }, nth) => {
    const middle = left + step * (nth + 0.5)
    const start = middle - (bar * series.length) / 2
    const bars = values.map((value, index) => {
      if (value === null) return null
      const x = start + bar * index
      const place = { x, y: y(value), width: bar * 0.92, height: y(0) - y(value) }
      return element(
        'g',
        { class: `bars c${index % 8}` },
        element('title', {}, `${name}, ${series[index] ?? ''}: ${format(value)}`),
        element('rect', place),
      )
    })
    const place = { x: middle, y: height - 8, 'text-anchor': 'middle' }
    return [bars, element('text', { class: 'tick', ...place }, name)]
  })
  const scale = { left, right: width - right }
  return html`<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">
    <title>${title}</title>
    ${y.ticks(5).map((tick) => gridLine(scale, y(tick), format(tick)))} ${drawn} ${legend(series)}
  </svg>`
}

// Letter width at the names' font size, rounded up so that names do not overlap.
const letterWidth = 7

function legend(series: readonly string[]): Html[] {
  let x = size.left
  return series.map((name, index) => {
    const at = x
    x += 24 + name.length * letterWidth
    const square = element('rect', { x: at, y: 4, width: 10, height: 10 })
    return html`${element('g', { class: `bars c${index % 8}` }, square)}
    ${element('text', { class: `name c${index % 8}`, x: at + 14, y: 13 }, name)}`
  })
}
