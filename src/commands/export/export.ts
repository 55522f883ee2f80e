import { pipeline } from 'node:stream/promises'
import { callerPath, readConfig } from '../../shared/config.ts'
import { exits, Misuse, unhandled, type Exit } from '../../shared/errors.ts'
import { say, type Call } from '../../shared/terminal/command.ts'
import { timeoutFlag, wordFlag } from '../../shared/terminal/flags.ts'
import { rowsText } from '../../shared/terminal/wording.ts'
import { readBatches } from '../../store/analysis/ask.ts'
import type { CellBatch } from '../../store/analysis/fetch.ts'
import { asLines } from '../../store/analysis/export.ts'
import { hintOrigins, readOrigins } from '../../store/analysis/origins.ts'
import { readArchive } from '../mill/archive/asked.ts'
import { archiveFlags } from '../mill/archive/flags.ts'
import { openMill } from '../mill/mill.ts'
import { readChoice } from './choice.ts'
import { writeRows } from './rows.ts'
import { findTarget, promisedFormat, writeTarget, type Target } from './target.ts'

const formats = ['csv', 'ndjson', 'parquet'] as const
type Format = (typeof formats)[number]

export interface ExportOptions {
  readonly format?: string
  readonly to?: string
  readonly question?: string
  readonly where?: string
  readonly raw?: true
  readonly bom?: true
  readonly origins?: string
  readonly suspects?: true
  readonly timeout: string
  readonly withArchive?: true
  readonly archived?: string
  readonly archive?: string
}

/** Writes a relation or an answer into a file or to stdout, row by row; what can be refused is refused before it asks. */
export async function exportRelation(call: Call<ExportOptions>): Promise<Exit> {
  const { options, args, env, closers } = call
  const { to, question, where, raw = false, bom = false } = options
  const choose = readChoice({ question, where, args })
  if (to === undefined) throw new Misuse('expected --to with a file, got nothing; - is stdout')
  const path = callerPath(env, to)
  const target = to === '-' ? null : await findTarget(path, to)
  const format = chooseFormat(target, options.format)
  if (bom && format !== 'csv') {
    throw new Misuse(`expected --bom with --format csv, got ${format}, which has no such mark`)
  }
  const timeoutMs = timeoutFlag(options.timeout, { like: '10m' })
  const archive = archiveFlags(options, env)
  const config = readConfig(env)
  const behind = archive === undefined
  const mill = await openMill({ config, closers, say, name: 'export', reading: true, behind })
  const origins = options.origins === undefined ? undefined : readOrigins(options.origins)
  const { name, ...asked } = await choose(mill.db)
  const text = format === 'ndjson' ? asLines(asked.text) : asked.text
  const before = archive === undefined ? undefined : readArchive(archive, mill, text)
  const suspects = options.suspects === true
  const reading = { ...asked, text, timeoutMs, origins, suspects, before }
  const batches = readBatches(mill.pool, { ...reading, warn: say })
  let rows = 0
  const counted = count(batches, (more) => (rows += more))
  const pieces = await write(counted, format, { raw, bom })
  if (target === null) {
    await pipeline(pieces, process.stdout, { end: false })
    say(`wrote ${rowsText(rows)} of ${name} as ${format}`)
    return exits.done
  }
  await writeTarget(target, pieces)
  say(`wrote ${rowsText(rows)} of ${name} to ${path} as ${format}`)
  const hint = /\banalysis\./i.test(asked.text) ? await hintOrigins(mill.db, origins) : null
  if (hint !== null) say(hint)
  return exits.done
}

/** What was typed, or what the name of the file promises: another format in it would be a trap for its readers. */
function chooseFormat(target: Target | null, typed: string | undefined): Format {
  const format = typed === undefined ? undefined : wordFlag('format', typed, formats)
  const promised = target === null ? null : promisedFormat(target)
  if (target === null || promised === null) return format ?? 'csv'
  const known = formats.find((one) => one === promised)
  if (known === undefined) {
    throw new Misuse(
      `expected --to with a file for csv (.csv), ndjson (.ndjson, .jsonl, .json) or parquet (.parquet), got ${target.shown}; name another file`,
    )
  }
  if (format === undefined || format === known) return known
  throw new Misuse(
    `expected --format ${known} for ${target.shown}, got ${format}; leave --format out, or name another file`,
  )
}

async function* count(
  batches: AsyncIterable<CellBatch>,
  add: (rows: number) => void,
): AsyncGenerator<CellBatch> {
  for await (const batch of batches) {
    add(batch.rows.length)
    yield batch
  }
}

async function write(
  batches: AsyncIterable<CellBatch>,
  format: Format,
  { raw, bom }: { readonly raw: boolean; readonly bom: boolean },
): Promise<AsyncIterable<string | Uint8Array>> {
  switch (format) {
    case 'csv':
    case 'ndjson':
      return writeRows(batches, format, { raw, bom })
    case 'parquet':
      // Loaded by those who want such a file.
      return (await import('../mill/parquet/write.ts')).writeParquet(batches)
    default:
      throw unhandled('format', format)
  }
}
