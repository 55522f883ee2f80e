import type { Cell } from './columns.ts'
import { usualLongestDays } from '../mill/cadence/night.ts'

/** How often the queries of a list are asked: each night, or each as often as its history says. */
export type Cadence =
  | { readonly kind: 'daily' }
  | { readonly kind: 'adaptive'; readonly longestDays: number }

/** The column of cadences. */
export const cadenceCell: Cell<Cadence> = {
  read: readCadence,
  expected: '"daily" or "adaptive 14d", from 2d to 365d',
  usual: { kind: 'daily' },
}

function readCadence(text: string): Cadence | null {
  const [word = '', longest, ...more] = text.toLowerCase().split(/\s+/)
  if (more.length > 0) return null
  if (word === '' || word === 'daily') return longest === undefined ? { kind: 'daily' } : null
  if (word !== 'adaptive') return null
  if (longest === undefined) return { kind: 'adaptive', longestDays: usualLongestDays }
  const longestDays = /^\d{1,3}d$/.test(longest) ? Number.parseInt(longest, 10) : 0
  return longestDays >= 2 && longestDays <= 365 ? { kind: 'adaptive', longestDays } : null
}
