import type { ColumnReading } from './columns.ts'

/** No query rests longer, unless the file says another number of days. */
export const usualLongestDays = 14

/** How often the queries of a list are asked: each night, or each as often as its history says. */
export type Cadence =
  | { readonly kind: 'daily' }
  | { readonly kind: 'adaptive'; readonly longestDays: number; readonly lends: boolean }

/** The column of cadences. */
export const cadenceCell: ColumnReading<Cadence> = {
  read: readCadence,
  expected: '"daily" or "adaptive 14d", from 2d to 365d, with "lend" behind it for twins',
  usual: { kind: 'daily' },
}

function readCadence(text: string): Cadence | null {
  const [word = '', ...more] = text.toLowerCase().split(/\s+/)
  if (word === '' || word === 'daily') return more.length === 0 ? { kind: 'daily' } : null
  if (word !== 'adaptive') return null
  const lends = more.at(-1) === 'lend'
  const [longest, ...rest] = lends ? more.slice(0, -1) : more
  if (rest.length > 0) return null
  if (longest === undefined) return { kind: 'adaptive', longestDays: usualLongestDays, lends }
  const longestDays = /^\d{1,3}d$/.test(longest) ? Number.parseInt(longest, 10) : 0
  return longestDays >= 2 && longestDays <= 365 ? { kind: 'adaptive', longestDays, lends } : null
}
