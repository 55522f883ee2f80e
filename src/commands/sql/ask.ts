import { unhandled } from '../../shared/errors.ts'
import type { Pool } from '../../store/database.ts'
import { readBatches, type Inquiry } from '../../store/analysis/ask.ts'
import type { CellBatch } from '../../store/analysis/fetch.ts'
import { readQuestions } from '../../store/analysis/library.ts'
import { object, writeRows } from '../export/rows.ts'
import { formatTable } from '../../shared/terminal/table.ts'

export const answerFormats = ['table', 'csv', 'json'] as const
export type AnswerFormat = (typeof answerFormats)[number]

/** The library, one line a question, its parameters below. */
export function describeLibrary(): string {
  const questions = readQuestions()
  const width = Math.max(...questions.map(({ name }) => name.length))
  const indent = ' '.repeat(width + 2)
  return questions
    .map(({ name, asks, parameters, narrows }) => {
      const lines = parameters.map((parameter) => {
        const value = parameter.fallback === undefined ? '…' : (parameter.fallback ?? '')
        return `${indent}--${parameter.name} ${value}`.trimEnd() + `  ${parameter.meaning}`
      })
      const flags = narrows.map((flag) => `--${flag}`).join(' ')
      if (flags !== '') lines.push(`${indent}${flags}`)
      return [`${name.padEnd(width)}  ${asks}`, ...lines].join('\n')
    })
    .join('\n')
}

export interface AnswerOptions {
  readonly format: AnswerFormat
  /** Most rows of a table. */
  readonly most: number
  readonly say: (line: string) => void
  /** Called at the end when there was no row. */
  readonly empty: () => void
}

/** Asks and gives the answer piece by piece, as it is to be printed. */
export async function* answerQuestion(
  pool: Pool,
  reading: Inquiry,
  { format, most, say, empty }: AnswerOptions,
): AsyncGenerator<string> {
  const batches = watch(readBatches(pool, reading), empty)
  switch (format) {
    case 'table':
      yield* answerTable(batches, most, say)
      return
    case 'csv':
      yield* writeRows(batches, 'csv')
      return
    case 'json':
      yield* answerJson(batches)
      return
    default:
      throw unhandled('format', format)
  }
}

async function* watch(
  batches: AsyncIterable<CellBatch>,
  empty: () => void,
): AsyncGenerator<CellBatch> {
  let some = false
  for await (const batch of batches) {
    some ||= batch.rows.length > 0
    yield batch
  }
  if (!some) empty()
}

async function* answerTable(
  batches: AsyncIterable<CellBatch>,
  most: number,
  say: (line: string) => void,
): AsyncGenerator<string> {
  const rows: (readonly (string | null)[])[] = []
  let columns: CellBatch['columns'] = []
  for await (const batch of batches) {
    columns = batch.columns
    rows.push(...batch.rows)
    if (rows.length > most) break
  }
  const heads = columns.map(({ name }) => name)
  const right = columns.filter(({ kind }) => kind === 'number').map(({ name }) => name)
  yield `${formatTable(heads, rows.slice(0, most), { right })}\n`
  if (rows.length === 0) say('no rows')
  if (rows.length > most) {
    say(`the first ${most} rows; --most shows more, npm run export writes all of them into a file`)
  }
}

async function* answerJson(batches: AsyncIterable<CellBatch>): AsyncGenerator<string> {
  let begun = false
  let between = ''
  for await (const { columns, rows } of batches) {
    if (!begun) yield `{"columns":${JSON.stringify(columns.map(({ name }) => name))},"rows":[`
    begun = true
    for (const row of rows) {
      yield `${between}\n${JSON.stringify(object(row, columns))}`
      between = ','
    }
  }
  yield '\n]}\n'
}
