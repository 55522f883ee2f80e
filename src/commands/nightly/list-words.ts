import type { Agreed } from '../../lists/agreed.ts'
import { readMaps } from '../../lists/mapping.ts'
import { Misuse } from '../../shared/errors.ts'

/** Columns of the file of schedules that say how a list is read; it may have them. */
export const listWords = ['encoding', 'delimiter', 'column', 'map'] as const

/** What a line says about reading its list: all of it or nothing counts, so null leaves what was agreed to. */
export function readListWords(text: (column: (typeof listWords)[number]) => string): {
  readonly agreed: Agreed | null
  readonly problem: string | null
} {
  if (listWords.every((column) => text(column) === '')) return { agreed: null, problem: null }
  const one = (column: 'encoding' | 'delimiter' | 'column') => text(column) || undefined
  try {
    const maps = readMaps(
      text('map')
        .split('|')
        .filter((part) => part.trim() !== ''),
    )
    const column = one('column') ?? maps.column
    const agreed = { encoding: one('encoding'), delimiter: one('delimiter'), column, map: maps.map }
    return { agreed, problem: null }
  } catch (error) {
    if (!(error instanceof Misuse)) throw error
    return { agreed: null, problem: error.message }
  }
}
