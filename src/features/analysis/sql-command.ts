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
import { type Exit, exits, Misuse, unhandled } from '../../base/errors.ts'
import { openMill } from '../../core/mill.ts'
import { archiveFlags, type AskedArchive, readArchive } from '../archive/load.ts'
import { type Inquiry, openAnalyst, readBatches } from './ask.ts'
import { findQuestion, readQuestions, type SqlQuestion } from './library.ts'
import { firstOrigins, hintOrigins, readOrigins } from './origins.ts'
import { object, writeRows } from './rows.ts'

interface SqlOptions {
  readonly format: string
  readonly timeout: string
  readonly origins?: string
  readonly suspects?: true
  readonly limit: string
  readonly withArchive?: true
  readonly archived?: string
  readonly archive?: string
}

// Longest time limit that Postgres accepts, in milliseconds.
const mostMs = 2 ** 31 - 1

/** Lists the questions, or runs a statement and prints the result as it arrives. */
export async function askTables(call: Call<SqlOptions>): Promise<Exit> {
  const { options, args } = call
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
  const asked = {
    question: findQuestion(typed, flags),
    timeoutMs: timeoutFlag(options.timeout, { like: '90s, at most 24d', mostMs }),
    format,
    most: Number(options.limit),
    origins: options.origins,
    suspects: options.suspects === true,
    archive: archiveFlags(options, call.env),
  }
  // The database code is loaded only here. Listing the questions does not need it.
  await printAnswer(asked, call)
  return exits.done
}

interface SqlRequest {
  readonly question: SqlQuestion
  readonly timeoutMs: number
  readonly format: AnswerFormat
  /** Maximum number of rows in a table. */
  readonly most: number
  /** Origins of answers to show, as typed. */
  readonly origins: string | undefined
  readonly suspects: boolean
  /** Part of the archive to include, or undefined for none. */
  readonly archive: AskedArchive | undefined
}

/** Opens the database, runs the statement, and prints the result as it arrives. */
async function printAnswer(
  { question, timeoutMs, format, most, archive, ...asked }: SqlRequest,
  { env, closers }: Pick<Call, 'env' | 'closers'>,
): Promise<void> {
  const config = readConfig(env)
  const mill = await openMill({
    config,
    closers,
    say,
    name: 'sql',
    reading: true,
    behind: archive === undefined,
  })
  // A statement without views needs no hint about views, except to explain an empty result.
  let views = /\banalysis\./i.test(question.text)
  let found = true
  const empty = () => {
    views = true
    found = false
  }
  const typed = asked.origins === undefined ? undefined : readOrigins(asked.origins)
  const first = { databaseUrl: config.databaseUrl, report: say }
  const origins = typed ?? (views ? await firstOrigins(mill.db, first) : undefined)
  const { installation } = mill
  const before = archive === undefined ? undefined : readArchive(archive, mill, question.text)
  const reading = { ...question, timeoutMs, origins, suspects: asked.suspects, warn: say, before }
  // Only the tables' owner can add archived rows to the tables for a statement.
  const url = archive === undefined ? config.analystUrl : null
  const pool =
    url === null
      ? mill.pool
      : closers.add(
          'the login',
          await openAnalyst({ url, installation, name: 'sql', max: 2 }),
          (open) => open.end(),
        )
  const answer = answerQuestion(pool, reading, { format, most, say, empty })
  await pipeline(answer, process.stdout, { end: false })
  const slice = found ? undefined : question.slice
  const unknown = slice === undefined ? null : await hintLabels(mill.db, slice)
  if (unknown !== null) say(unknown)
  const hint = views ? await hintOrigins(mill.db, origins) : null
  if (hint !== null) say(hint)
}

const answerFormats = ['table', 'csv', 'json', 'parquet'] as const
type AnswerFormat = (typeof answerFormats)[number]

/** Lists the questions, one per line, with their parameters. */
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

/** Runs a statement, and yields the formatted result in pieces. */
export async function* answerQuestion(
  pool: Pool,
  reading: Inquiry,
  { format, most, say: report, empty }: AnswerOptions,
): AsyncGenerator<string | Uint8Array> {
  const batches = watch(readBatches(pool, reading), empty)
  switch (format) {
    case 'table':
      yield* answerTable(batches, most, report)
      return
    case 'csv':
      yield* writeRows(batches, 'csv')
      return
    case 'json':
      yield* answerJson(batches)
      return
    case 'parquet':
      yield* (await import('./parquet.ts')).writeParquet(batches)
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
