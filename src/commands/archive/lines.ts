import type { LeavingDays } from '../../store/archive/days.ts'
import type { Archived } from './day.ts'

/** What became of a day, in a line. */
export function dayLine({ run_date: day, part, answers, rows, bytes }: Archived, dry: boolean) {
  const later = part === 1 ? '' : `, part ${part}`
  const what = `${answers} answers, ${rows} rows`
  return dry
    ? `${day}${later}: ${what} would leave`
    : `${day}${later}: ${what} left, ${megabytes(bytes)} of files`
}

/** Why days that are old enough stay. */
export function keptLine({ day, run }: NonNullable<LeavingDays['kept']>): string {
  return `${day} and what follows it stay: run ${run} of that day is not over; npm run cancel -- --run ${run} ends it`
}

/** What all of it came to. */
export function sumLine(days: readonly Archived[], folder: string, dry: boolean): string {
  if (days.length === 0) return 'no day is old enough that is not in the archive yet'
  const rows = days.reduce((sum, day) => sum + day.rows, 0)
  const bytes = days.reduce((sum, day) => sum + day.bytes, 0)
  return dry
    ? `${days.length} days with ${rows} rows would leave for ${folder}`
    : `${days.length} days with ${rows} rows are in ${folder}, ${megabytes(bytes)}`
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
