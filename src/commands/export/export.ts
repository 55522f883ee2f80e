import { pipeline } from 'node:stream/promises'
import { callerPath, readConfig } from '../../shared/config.ts'
import { exits, Misuse, type Exit } from '../../shared/errors.ts'
import { say, type Call } from '../../shared/terminal/command.ts'
import { timeoutFlag } from '../../shared/terminal/flags.ts'
import { readBatches } from '../../store/analysis/ask.ts'
import { findRelation, selectRows } from '../../store/analysis/export.ts'
import { hintOrigins, readOrigins } from '../../store/analysis/origins.ts'
import { openMill } from '../mill/mill.ts'
import { rowFormats, writeRows } from './rows.ts'
import { findTarget, writeTarget } from './target.ts'

export interface ExportOptions {
  readonly format: 'csv' | 'ndjson'
  readonly to?: string
  readonly raw?: true
  readonly origins?: string
  readonly timeout: string
}

/** Writes a relation into a file or to stdout, row by row; what can be refused is refused before it asks. */
export async function exportRelation(call: Call<ExportOptions>): Promise<Exit> {
  const { options, args, env, closers } = call
  const { format, to, raw = false } = options
  if (!rowFormats.includes(format)) {
    throw new Misuse(`expected --format to be csv or ndjson, got ${format}`)
  }
  if (to === undefined) throw new Misuse('expected --to with a file, got nothing; - is stdout')
  const path = callerPath(env, to)
  const target = to === '-' ? null : await findTarget(path, to)
  const timeoutMs = timeoutFlag(options.timeout, { like: '10m' })
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'export', reading: true })
  const origins = options.origins === undefined ? undefined : readOrigins(options.origins)
  const relation = await findRelation(mill.db, args[0] ?? '')
  const text = selectRows(relation, format)
  const batches = readBatches(mill.pool, { text, timeoutMs, origins, warn: say })
  const lines = writeRows(batches, format, raw)
  if (target === null) {
    await pipeline(lines, process.stdout, { end: false })
    return exits.done
  }
  await writeTarget(target, lines)
  say(`${relation} is in ${path}`)
  const hint = relation.startsWith('analysis.') ? await hintOrigins(mill.db, origins) : null
  if (hint !== null) say(hint)
  return exits.done
}
