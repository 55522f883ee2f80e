import { html } from 'hono/html'
import type { KeyDay } from '../days.ts'

const width = 720
const height = 180
const margin = { left: 48, bottom: 22, top: 10 }
const mostSeries = 5

interface Series {
  readonly name: string
  readonly byDay: ReadonlyMap<string, number>
}

/** Credits of each day as a bar, one colour for each of the keys that used most. */
export function drawChart(days: readonly string[], used: readonly KeyDay[]) {
  const series = toSeries(used)
  const total = (day: string) => series.reduce((sum, one) => sum + (one.byDay.get(day) ?? 0), 0)
  const top = niceTop(Math.max(1, ...days.map(total)))
  const y = (value: number) =>
    height - margin.bottom - (value / top) * (height - margin.bottom - margin.top)
  const step = (width - margin.left) / days.length
  const bars = days.flatMap((day, at) => {
    let below = 0
    return series.flatMap(({ name, byDay }, index) => {
      const value = byDay.get(day) ?? 0
      if (value === 0) return []
      const [from, to] = [y(below), y(below + value)]
      below += value
      const x = (margin.left + at * step + 1).toFixed(1)
      return [
        html`<rect
          class="s${index}"
          x="${x}"
          y="${to.toFixed(1)}"
          width="${(step - 2).toFixed(1)}"
          height="${(from - to).toFixed(1)}"
          ><title>${day}, ${name}: ${value} credits</title></rect
        >`,
      ]
    })
  })
  const lines = [0, top / 2, top].map(
    (value) =>
      html`<line x1="${margin.left}" x2="${width}" y1="${y(value)}" y2="${y(value)}"></line
        ><text class="value" x="${margin.left - 6}" y="${y(value) + 4}">${value}</text>`,
  )
  const legend = series.map(({ name }, index) => html`<li><i class="s${index}"></i>${name}</li>`)
  return html`<svg
      viewBox="0 0 ${width} ${height}"
      role="img"
      aria-label="Credits used on each day"
    >
      ${lines}${bars}${drawDays(days)}
    </svg>
    <ul class="legend">
      ${legend}
    </ul>`
}

function drawDays(days: readonly string[]) {
  const step = (width - margin.left) / days.length
  const every = Math.ceil(days.length / 6)
  return days.flatMap((day, at) => {
    if (at % every !== 0) return []
    const x = (margin.left + at * step).toFixed(1)
    return [html`<text x="${x}" y="${height - 6}">${day.slice(5)}</text>`]
  })
}

/** Those that used most under their own names, the others together. */
function toSeries(used: readonly KeyDay[]): Series[] {
  const keys = new Map<number, { name: string; total: number; byDay: Map<string, number> }>()
  for (const { id, key, name, day, credits } of used) {
    const one = keys.get(id) ?? { name: name === '' ? key : name, total: 0, byDay: new Map() }
    one.total += credits
    one.byDay.set(day, credits)
    keys.set(id, one)
  }
  const sorted = [...keys.values()].toSorted((a, b) => b.total - a.total)
  const rest = sorted.slice(mostSeries)
  if (rest.length === 0) return sorted
  const byDay = new Map<string, number>()
  for (const one of rest) {
    for (const [day, credits] of one.byDay) byDay.set(day, (byDay.get(day) ?? 0) + credits)
  }
  return [...sorted.slice(0, mostSeries), { name: `${rest.length} others`, byDay }]
}

/** The next even number of the kind that people read off. */
function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return Math.max(
    2,
    [1, 2, 4, 6, 8, 10].map((one) => one * power).find((one) => one >= value) ?? value,
  )
}
