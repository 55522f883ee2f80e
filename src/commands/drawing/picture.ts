import { csvLines, type Cell } from '../../shared/csv.ts'
import { html, type Html } from './html.ts'
import { lineChart, type LineChart, type Series } from './lines.ts'
import { scrolled } from './parts.ts'

interface PictureFrame {
  /** What the frame is called; else what the picture shows. */
  readonly name?: string
  readonly seen?: 'end' | 'beginning'
}

/** A wide picture that scrolls by itself, and its figures to take along. */
export function drawPicture(
  chart: LineChart,
  { name = chart.title, seen = 'end' }: PictureFrame = {},
): Html {
  return html`${scrolled(name, lineChart(chart), seen)} ${figuresOf(chart)}`
}

/** A picture that fits into any page, and its figures to take along. */
export function drawSmall(chart: LineChart): Html {
  return html`${lineChart(chart)} ${figuresOf(chart)}`
}

/**
 * What a picture was drawn from, as a file that lies in the page itself: a report has it without a server, and no script
 * writes it. The first row has the names of the columns.
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

/** A row for each time, a column for each line; a time that a line has twice has two rows. */
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

// Some systems take no longer name.
const longestName = 80

function fileName(title: string): string {
  const words = title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
  return `${[...words].slice(0, longestName).join('') || 'figures'}.csv`
}
