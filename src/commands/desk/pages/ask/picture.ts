import { dayOf } from '../../../../shared/time/zone.ts'
import type { Html } from '../../../drawing/html.ts'
import type { Point } from '../../../drawing/lines.ts'
import { drawPicture } from '../../../drawing/picture.ts'
import type { AskedRows } from './answer.ts'

const dateType = 1082
const mostLines = 8

/** An answer that has days, and a number for each of them, as lines over time; null: no picture fits. */
export function picture({ columns, rows }: AskedRows, title: string): Html | null {
  const day = columns.findIndex(({ type }) => type === dateType)
  const value = columns.findIndex(({ kind }) => kind === 'number')
  if (day === -1 || value === -1) return null
  const names = columns.flatMap(({ kind, type }, index) =>
    kind === 'text' && type !== dateType ? [index] : [],
  )
  const lines = linesOf(rows, { day, value, names: names.slice(0, 2) })
  if (lines === null) return null
  const values = [...lines.values()].flat().map((point) => point.value ?? 0)
  const column = columns[value]?.name ?? ''
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)]
  // Ranks begin at the top.
  const range = /position|rank$/.test(column)
    ? ([Math.max(10, most) + 0.5, 0.5] as const)
    : ([least, most === least ? least + 1 : most * 1.05] as const)
  const chart = {
    title: `${title} (${column})`,
    series: [...lines].map(([name, points]) => ({ name: name === '' ? column : name, points })),
    grain: 'day' as const,
    width: 1040,
    height: 280,
    range,
    format: (number: number) =>
      new Intl.NumberFormat('en', { maximumFractionDigits: 4 }).format(number),
    named: true,
    hover: true,
  }
  return drawPicture(chart, { name: `${title}, as a picture` })
}

/** A line for each name; null where a day would have two values, where there are too many lines, or one day alone. */
function linesOf(
  rows: AskedRows['rows'],
  { day, value, names }: { day: number; value: number; names: readonly number[] },
): ReadonlyMap<string, Point[]> | null {
  const lines = new Map<string, Map<string, number | null>>()
  const days = new Set<string>()
  for (const row of rows) {
    const date = row[day] ?? null
    if (date === null || !/^\d{4}-\d\d-\d\d$/.test(date)) return null
    const name = names
      .map((index) => row[index] ?? '')
      .filter((text) => text !== '')
      .join(', ')
    const line = lines.get(name) ?? new Map<string, number | null>()
    if (line.has(date)) return null
    const number = row[value] ?? null
    line.set(date, number === null || !Number.isFinite(Number(number)) ? null : Number(number))
    lines.set(name, line)
    if (lines.size > mostLines) return null
    days.add(date)
  }
  if (days.size < 2) return null
  const inOrder = [...days].toSorted()
  return new Map(
    [...lines].map(([name, line]) => [
      name,
      inOrder.map((date) => ({ at: dayOf(date), value: line.get(date) ?? null })),
    ]),
  )
}
