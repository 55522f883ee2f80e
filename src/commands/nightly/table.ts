import { formatTable } from '../../shared/terminal/table.ts'

/** A schedule in words, its times as its own zone shows them. */
export interface NightLine {
  readonly name: string
  readonly list: string
  readonly sentence: string
  readonly zone: string
  readonly on: boolean
  readonly rules: string
  readonly next: readonly string[]
  readonly last: string
  readonly lately: string
  readonly overdue: readonly string[]
}

/** The schedules as a page: a table for the eye, then what needs one. */
export function formatNights(
  lines: readonly NightLine[],
  refused: readonly { readonly line: number; readonly problem: string }[],
): string {
  const parts: string[] = []
  if (lines.length === 0) parts.push('No schedule can be used.')
  for (const line of lines) parts.push(formatOne(line))
  for (const { line, problem } of refused) parts.push(`refused, line ${line}: ${problem}`)
  return parts.join('\n\n')
}

function formatOne(line: NightLine): string {
  const head = `${line.name}${line.on ? '' : ' (off)'}: ${line.sentence}, ${line.zone}`
  const rows = [
    ['list', line.list],
    ['rules', line.rules],
    ['next', line.next.length === 0 ? 'never, it is off' : line.next.join(', ')],
    ['last', line.last],
    ['lately', line.lately],
    ...line.overdue.map((problem) => ['OVERDUE', problem]),
  ]
  const table = formatTable(['', ''], rows, { widest: null })
  // The heads of the table are empty: its first line holds nothing.
  const body = table.split('\n').filter((text) => text.trim() !== '')
  return [head, ...body.map((text) => `  ${text}`)].join('\n')
}
