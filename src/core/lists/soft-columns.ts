// Examines columns whose contents may not fit their names.

import { type Dialect, type ListColumn, plainName, show } from './columns.ts'
import type { ReadOptions } from './options.ts'
import {
  checkEvery,
  checkMaxAge,
  checkPriority,
  type DecimalSign,
  isGap,
  isNumber,
  NumberStyle,
  readNumber,
} from './values.ts'

/** Columns that are ignored because of their contents, and the decimal signs of the other columns. */
export interface ColumnFindings {
  /** Reasons why columns are ignored, by column index. */
  readonly ignored: ReadonlyMap<number, string>
  readonly decimals: ReadonlyMap<number, DecimalSign>
}

/** Examines whole columns, such as priorities or weights, before their values can cause queries to be rejected. */
export function createSurvey({ columns, delimiter }: Dialect, { decimal: wanted }: ReadOptions) {
  const tallies = columns.others.filter(isSoft).map(emptyTally)
  return {
    look(cells: readonly string[]): void {
      for (const tally of tallies) {
        const cell = cells[tally.column.index] ?? ''
        if (cell === '' || isGap(cell)) continue
        tally.filled++
        if (isNumeric(tally.column)) tally.style.look(cell)
        if (tally.content.fits(cell, tally.last)) tally.fits++
        else tally.misfit ??= cell.trim().slice(0, 40)
        tally.last = cell
      }
    },

    verdict(): ColumnFindings {
      const ignored = new Map<number, string>()
      const decimals = new Map<number, DecimalSign>()
      for (const { column, content, style, filled, fits, misfit } of tallies) {
        const { index, role } = column
        // A single "1" does not prove that a column holds row numbers.
        const enough = fits * 2 >= filled || (role === 'num' && filled === 1)
        if (!enough) {
          const why = `${JSON.stringify(misfit)} is not a ${content.kind}`
          ignored.set(index, role === 'num' ? 'its numbers are row numbers' : why)
        }
        if (!isNumeric(column)) continue
        const decimal = style.decide(wanted, delimiter)
        if (decimal !== null) decimals.set(index, decimal)
        else if (enough) {
          const why =
            'it contains ambiguous numbers such as 1.200; use --decimal point or --decimal comma'
          ignored.set(index, why)
        }
      }
      return { ignored, decimals }
    },
  }
}

function emptyTally(column: ListColumn) {
  const content = contents[column.role] ?? aNumber
  const style = new NumberStyle()
  return { column, content, style, filled: 0, fits: 0, last: '', misfit: null as string | null }
}

export function sameFindings(one: ColumnFindings, other: ColumnFindings): boolean {
  return spelled(one) === spelled(other)
}

function spelled({ ignored, decimals }: ColumnFindings): string {
  return JSON.stringify([[...ignored.keys()], [...decimals].filter(([at]) => !ignored.has(at))])
}

/** Expected contents of columns, by role. All other examined columns contain numbers. */
const contents: Partial<Record<ListColumn['role'], Content>> = {
  priority: { kind: 'priority from 1 to 9', fits: (cell) => checkPriority(cell).ok },
  every: { kind: 'known interval', fits: (cell) => checkEvery(cell).ok },
  max_age: { kind: 'known duration', fits: (cell) => checkMaxAge(cell).ok },
  // Columns called "place" may contain ranks, and columns called "num" may contain row numbers.
  location: { kind: 'place name', fits: (cell) => !isNumber(cell) },
  num: { kind: 'number of results', fits: (cell, last) => Number(cell) !== Number(last) + 1 },
}

interface Content {
  readonly kind: string
  readonly fits: (cell: string, last: string) => boolean
}

const aNumber: Content = {
  kind: 'number',
  fits: (cell) => typeof (readNumber(cell, '.') ?? readNumber(cell, ',')) === 'number',
}

function isSoft(column: ListColumn): boolean {
  const { role, asked } = column
  if (asked === true && (role === 'location' || role === 'num')) return false
  return contents[role] !== undefined || isNumeric(column)
}

function isNumeric({ role }: ListColumn): boolean {
  return role === 'weight' || role === 'cpc' || role === 'difficulty'
}

const worthSaying = new Set(
  'country,language,locale,market,volume,land,sprache,pays,langue,país,idioma,paese,lingua,taal,kraj,język,страна,язык,国,国家,国家/地区,言語,语言,국가,언어'.split(
    ',',
  ),
)

/** Returns notices about ignored columns that the user may want to use. */
export function noticesOf({ header, columns }: Dialect, { ignored }: ColumnFindings): string[] {
  const left = [...ignored].map(([index, why]) => {
    const name = header[index] ?? String(index + 1)
    return `the column ${show(name)} is ignored: ${why}`
  })
  const missed = columns.ignored
    .filter((name) => worthSaying.has(plainName(name)))
    .map(
      (name) =>
        `the column ${show(name)} is not read; if it affects the query, map it, for example with --map ${JSON.stringify(`${name.trim()}=gl`)}`,
    )
  return [...left, ...missed]
}
