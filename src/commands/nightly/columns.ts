import { listWords } from './list-words.ts'

/** The columns of the file, in their usual order. */
const columns = [
  'schedule',
  'list',
  'cron',
  'zone',
  'max_age',
  'budget',
  'priority',
  'missed',
  'overlap',
  'on',
  'cadence',
  'share',
] as const

/** A column that the file of schedules has, or may have. */
export type ScheduleColumn = (typeof columns)[number] | (typeof listWords)[number]

/** How the cells of a column are read: null for words that are none, and what stands for them then. */
export interface ColumnReading<T> {
  readonly read: (text: string) => T | null
  readonly expected: string
  readonly usual: T
}

/** What is wrong with the header of the file of schedules; null: nothing. */
export function unknownColumns(names: readonly string[]): string | null {
  const known: readonly string[] = [...columns, ...listWords]
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length === 0) return null
  return `expected the columns ${columns.join(', ')}, got ${unknown.join(', ')} as well; what stands there is not read`
}
