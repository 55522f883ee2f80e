import { pipeline } from 'node:stream/promises'
import { callerPath, readConfig } from '../../shared/config.ts'
import { exits, Misuse, unhandled, type Exit } from '../../shared/errors.ts'
import { say, type Call } from '../../shared/terminal/command.ts'
import { timeoutFlag, wordFlag } from '../../shared/terminal/flags.ts'
import { readBatches } from '../../store/analysis/ask.ts'
import type { CellBatch } from '../../store/analysis/fetch.ts'
import { asLines } from '../../store/analysis/export.ts'
import { hintOrigins, readOrigins } from '../../store/analysis/origins.ts'
import { readArchive } from '../mill/archive/asked.ts'
import { archiveFlags } from '../mill/archive/flags.ts'
import { openMill } from '../mill/mill.ts'
import { readChoice } from './choice.ts'
import { writeRows } from './rows.ts'
import { findTarget, writeTarget } from './target.ts'

const formats = ['csv', 'ndjson', 'parquet'] as const
type Format = (typeof formats)[number]

export interface ExportOptions {
  readonly format: string
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
  const format = wordFlag('format', options.format, formats)
  if (to === undefined) throw new Misuse('expected --to with a file, got nothing; - is stdout')
  if (bom && format !== 'csv') {
    throw new Misuse(`expected --bom with --format csv, got ${format}, which has no such mark`)
  }
  const path = callerPath(env, to)
  const target = to === '-' ? null : await findTarget(path, to)
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
  const pieces = await write(batches, format, { raw, bom })
  if (target === null) {
    await pipeline(pieces, process.stdout, { end: false })
    return exits.done
  }
  await writeTarget(target, pieces)
  say(`${name} is in ${path}`)
  const hint = /\banalysis\./i.test(asked.text) ? await hintOrigins(mill.db, origins) : null
  if (hint !== null) say(hint)
  return exits.done
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
