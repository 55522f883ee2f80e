// Runs the `export` command: writes a relation or a statement's result to a file.

import { npmRun } from '../../base/cli/commands.ts'
import { pipeline } from 'node:stream/promises'
import { type Call, printJson, say } from '../../base/cli/command.ts'
import { delimiterNames, timeoutFlag, wordFlag } from '../../base/cli/flags.ts'
import { count } from '../../base/cli/text.ts'
import { callerPath, readConfig } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import type { CellBatch } from '../../base/database/fetch.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { readSlice, sliceFlags, spanFlags } from '../../base/database/views.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { openMill } from '../../core/mill.ts'
import { archiveFlags, readArchive } from '../archive/load.ts'
import { readBatches } from './ask.ts'
import { findQuestion, readFlags } from './library.ts'
import { hintOrigins, readOrigins } from './origins.ts'
import { countRows, type RowOptions, writeRows } from './rows.ts'
import { findTarget, promisedFormat, type Target, writeTarget } from './target.ts'

const formats = ['csv', 'ndjson', 'parquet', 'xlsx'] as const
type Format = (typeof formats)[number]

type ExportOptions = Parameters<typeof archiveFlags>[0] & {
  readonly format?: string
  readonly to?: string
  readonly question?: string
  readonly where?: string
  readonly raw?: true
  readonly bom?: true
  readonly delimiter: string
  readonly origins?: string
  readonly suspects?: true
  readonly timeout: string
}

/** Writes a relation or result to a file or stdout, row by row. Validates all input before the statement runs. */
export async function exportRelation(call: Call<ExportOptions>): Promise<Exit> {
  const { options, args, env, closers } = call
  const { to, question, where, raw = false, bom = false, suspects } = options
  const choose = readChoice({ question, where, args })
  if (to === undefined)
    throw new Misuse('expected --to FILE, got nothing; use --to - for standard output')
  if (to === '-' && options.json === true) {
    throw new Misuse('expected --to FILE with --json, got --to -, which prints the rows to stdout')
  }
  const path = callerPath(env, to)
  const target = to === '-' ? null : await findTarget(path, to)
  const format = chooseFormat(target, options.format)
  if (bom && format !== 'csv') {
    throw new Misuse(
      `expected --bom with --format csv, got ${format}, which has no byte order mark`,
    )
  }
  const delimiter = chooseDelimiter(options.delimiter, format)
  const timeoutMs = timeoutFlag(options.timeout, { like: '10m' })
  const archive = archiveFlags(options, env)
  const config = readConfig(env)
  const behind = archive === undefined
  const mill = await openMill({ config, closers, say, name: 'export', reading: true, behind })
  const origins = options.origins === undefined ? undefined : readOrigins(options.origins)
  const { name, ...asked } = await choose(mill.db)
  const text = format === 'ndjson' ? asLines(asked.text) : asked.text
  const before = readArchive(archive, mill, text)
  const reading = { ...asked, text, timeoutMs, origins, suspects, before }
  const batches = readBatches(mill.pool, { ...reading, warn: say })
  let rows = 0
  const counted = countRows(batches, (more) => (rows += more))
  const pieces = await write(counted, format, { raw, bom, delimiter })
  if (target === null) {
    await pipeline(pieces, process.stdout, { end: false })
    say(`wrote ${count(rows, 'row')} of ${name} as ${format}`)
    return exits.done
  }
  await writeTarget(target, pieces)
  if (options.json === true) printJson({ name, rows, format, file: path })
  say(`wrote ${count(rows, 'row')} of ${name} to ${path} as ${format}`)
  const hint = /\banalysis\./i.test(asked.text) ? await hintOrigins(mill.db, origins) : null
  if (hint !== null) say(hint)
  return exits.done
}

/** Chooses the format from the flag or the file extension. Rejects a flag that contradicts the extension. */
function chooseFormat(target: Target | null, typed: string | undefined): Format {
  const format = typed === undefined ? undefined : wordFlag('format', typed, formats)
  const promised = target === null ? null : promisedFormat(target)
  if (target === null || promised === null) return format ?? 'csv'
  const known = formats.find((one) => one === promised)
  if (known === undefined) {
    throw new Misuse(
      `expected --to with a .csv, .ndjson, .jsonl, .json, .parquet or .xlsx file, got ${target.shown}; choose another file`,
    )
  }
  if (format === undefined || format === known) return known
  throw new Misuse(
    `expected --format ${known} for ${target.shown}, got ${format}; leave --format out, or choose another file`,
  )
}

function chooseDelimiter(typed: string, format: Format): string {
  const name = wordFlag('delimiter', typed, Object.keys(delimiterNames))
  const delimiter = delimiterNames[name] ?? ','
  if (delimiter === ',' || format === 'csv') return delimiter
  throw new Misuse(`expected --delimiter with --format csv, got ${format}, which has no delimiter`)
}

async function write(
  batches: AsyncIterable<CellBatch>,
  format: Format,
  options: RowOptions,
): Promise<AsyncIterable<string | Uint8Array>> {
  if (format === 'parquet') return (await import('./parquet.ts')).writeParquet(batches)
  if (format === 'xlsx') return (await import('./workbook.ts')).writeWorkbook(batches, say)
  return writeRows(batches, format, options)
}

type TypedChoice = Pick<Call, 'args'> & Readonly<Record<'question' | 'where', string | undefined>>

/** Returns the relation, question or SQL to export. Rejects invalid input before opening the database, if possible. */
export function readChoice({ question, where, args }: TypedChoice) {
  if (question !== undefined) {
    if (where !== undefined) {
      throw new Misuse(
        'expected --where with the name of a table or view, got --where with --question; put the condition into the SQL',
      )
    }
    const name = /\s/.test(question.trim()) ? 'the answer' : question
    const found = { ...findQuestion(question, args), name }
    return () => Promise.resolve(found)
  }
  const [relation = '', ...flags] = args
  if (relation.startsWith('-')) {
    throw new Misuse(
      `expected the name of a table or view, followed by its flags, got ${relation}; ${npmRun('export --')} --help lists all flags`,
    )
  }
  const given = readFlags(flags)
  const known: readonly string[] = [...sliceFlags, ...spanFlags]
  const other = [...given.keys()].find((flag) => !known.includes(flag))
  if (other !== undefined) {
    throw new Misuse(
      `expected --where, ${known.map((flag) => `--${flag}`).join(', ')} after ${relation}, got --${other}; ${npmRun('export --')} --help lists all flags`,
    )
  }
  const slice = readSlice(given)
  return async (db: Database) => {
    const name = await findRelation(db, relation)
    const { since, until } = slice
    return { ...(await selectRows(db, name, { since, until, where })), slice, name }
  }
}

/** Finds a table or view by the typed name, and returns the name quoted for SQL. */
async function findRelation(db: Database, typed: string): Promise<string> {
  const rows = await readRows<{ name: string; quoted: string }>(db, 'list_relations', {})
  const wanted = typed.trim().toLowerCase()
  // Analyst views come first. No table has the same name as a view.
  const found = rows.find(({ name }) => name === wanted || name.split('.')[1] === wanted)
  if (found !== undefined) return found.quoted
  const near = rows
    .map(({ name }) => name)
    .filter((name) => name.includes(wanted.slice(0, 4)))
    .slice(0, 5)
  throw new Misuse(
    `expected the name of a table or view, got ${JSON.stringify(typed)}; ${
      near.length === 0 ? 'docs/schema.md lists them' : `did you mean ${near.join(' or ')}?`
    }`,
  )
}

/** Columns that may contain a row's time, in order of preference. */
const times = [
  ...['run_date', 'date', 'day', 'fetched_at', 'at', 'due_at', 'sent_at', 'received_at'],
  ...['created_at', 'finished_at', 'first_seen', 'written_at'],
]

async function selectRows(
  db: Database,
  relation: string,
  { since, until, where }: Readonly<Record<'since' | 'until' | 'where', string | undefined>>,
) {
  const bounded = since !== undefined || until !== undefined
  const time = bounded ? await findTime(db, relation) : null
  const conditions = [
    // Without the line break, a trailing comment would include the closing parenthesis.
    ...(where === undefined ? [] : [`(${where}\n)`]),
    ...(time === null ? [] : [`${time} >= coalesce($1::date, '-infinity')`]),
    ...(time === null ? [] : [`${time} < coalesce($2::date + 1, 'infinity')`]),
  ]
  const text = `select * from ${relation}${conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`}`
  return { text, values: time === null ? [] : [since ?? null, until ?? null] }
}

async function findTime(db: Database, relation: string): Promise<string> {
  const [found] = await readRows<{ name: string }>(db, 'read_time_column', { relation, times })
  if (found !== undefined) return found.name
  throw new Misuse(
    `expected a table or view with a time column for --since and --until, got ${relation}, which has none; omit these flags, or use --where`,
  )
}

/** Wraps a statement so that each row is one line of JSON. */
export function asLines(question: string): string {
  // The server writes the JSON, because only the server knows each column's type and exact numbers and times. The
  // statement selects `line.*`, because a column may be named line.
  return `select row_to_json(line.*)::text as line from (${question.trim().replace(/(;|\s|--[^\n]*$)+$/, '')}\n) as line`
}
