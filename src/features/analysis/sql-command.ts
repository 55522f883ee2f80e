// Runs the `sql` command: a predefined question, or SQL from the command line.

import { npmRun } from '../../base/cli/commands.ts'
import { pipeline } from 'node:stream/promises'
import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { timeoutFlag, wordFlag } from '../../base/cli/flags.ts'
import { formatTable } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import type { Pool } from '../../base/database/database.ts'
import type { CellBatch } from '../../base/database/fetch.ts'
import { hintLabels } from '../../base/database/views.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { openMill } from '../../core/mill.ts'
import { archiveFlags, readArchive } from '../archive/load.ts'
import { type Inquiry, openAnalyst, readBatches } from './ask.ts'
import { findQuestion, readQuestions } from './library.ts'
import { firstOrigins, hintOrigins, readOrigins } from './origins.ts'
import { countRows, object, writeRows } from './rows.ts'

type SqlOptions = Parameters<typeof archiveFlags>[0] & {
  readonly format: string
  readonly timeout: string
  readonly origins?: string
  readonly suspects?: true
  readonly limit: string
}

// Longest time limit that Postgres accepts, in milliseconds.
const mostMs = 2 ** 31 - 1

/** Lists the questions, or runs a statement and prints the result as it arrives. */
export async function askTables(call: Call<SqlOptions>): Promise<Exit> {
  const { options, args, env, closers } = call
  const format = wordFlag('format', options.json === true ? 'json' : options.format, answerFormats)
  const [typed, ...flags] = args
  if (format === 'parquet' && process.stdout.isTTY) {
    throw new Misuse(
      '--format parquet cannot be printed to a terminal; to write a file, add > answer.parquet',
    )
  }
  if (typed === undefined) {
    if (format === 'json') printJson(readQuestions())
    else print(describeLibrary())
    return exits.done
  }
  const question = findQuestion(typed, flags)
  const timeoutMs = timeoutFlag(options.timeout, { like: '90s, at most 24d', mostMs })
  const archive = archiveFlags(options, env)
  const behind = archive === undefined
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'sql', reading: true, behind })
  // Hints about views are shown only if the statement uses a view or returns no rows.
  const views = /\banalysis\./i.test(question.text)
  const first = { databaseUrl: config.databaseUrl, report: say }
  const usual = async () => (views ? firstOrigins(mill.db, first) : undefined)
  const origins = options.origins === undefined ? await usual() : readOrigins(options.origins)
  const before = readArchive(archive, mill, question.text)
  const { suspects } = options
  // Only the tables' owner can add archived rows to the tables for a statement.
  const url = behind ? config.analystUrl : null
  const login = { installation: mill.installation, name: 'sql', max: 2 }
  const pool =
    url === null
      ? mill.pool
      : closers.add('the login', await openAnalyst({ url, ...login }), (open) => open.end())
  let found = true
  const answer = answerQuestion(
    pool,
    { ...question, timeoutMs, origins, suspects, warn: say, before },
    { format, most: Number(options.limit), say, empty: () => (found = false) },
  )
  await pipeline(answer, process.stdout, { end: false })
  const { slice } = question
  const unknown = found || slice === undefined ? null : await hintLabels(mill.db, slice)
  if (unknown !== null) say(unknown)
  const hint = views || !found ? await hintOrigins(mill.db, origins) : null
  if (hint !== null) say(hint)
  return exits.done
}

const answerFormats = ['table', 'csv', 'json', 'parquet'] as const
type AnswerFormat = (typeof answerFormats)[number]

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

interface AnswerOptions {
  readonly format: AnswerFormat
  /** Maximum number of rows in a table. */
  readonly most: number
  readonly say: (line: string) => void
  /** Called at the end if the result has no rows. */
  readonly empty: () => void
}

export async function* answerQuestion(
  pool: Pool,
  reading: Inquiry,
  { format, most, say: report, empty }: AnswerOptions,
): AsyncGenerator<string | Uint8Array> {
  let rows = 0
  const batches = countRows(readBatches(pool, reading), (more) => (rows += more))
  if (format === 'table') yield* answerTable(batches, most, report)
  else if (format === 'json') yield* answerJson(batches)
  else if (format === 'csv') yield* writeRows(batches, 'csv')
  else yield* (await import('./parquet.ts')).writeParquet(batches)
  if (rows === 0) empty()
}

async function* answerTable(
  batches: AsyncIterable<CellBatch>,
  most: number,
  report: (line: string) => void,
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
  if (rows.length === 0) report('no rows')
  if (rows.length > most) {
    report(
      `only the first ${most} rows are shown; --limit shows more, and ${npmRun('export')} writes all rows to a file`,
    )
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
