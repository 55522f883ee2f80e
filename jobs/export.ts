import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { runCommand, say } from '../src/command.ts'
import { callerPath, readConfig } from '../src/config.ts'
import { readDuration } from '../src/duration.ts'
import { exits, Misuse } from '../src/errors.ts'

interface Options {
  readonly format: 'csv' | 'ndjson'
  readonly to?: string
  readonly raw?: true
  readonly origins?: string
  readonly timeout: string
}

await runCommand<Options>(
  {
    name: 'export',
    about: 'Writes a view or a table into a file, row by row, however long it is.',
    examples: [
      'npm run export -- movers --to movers.csv',
      'npm run export -- results --format ndjson --to results.ndjson',
      'npm run export -- searches --to - | head',
    ],
    define: (program) =>
      program
        .argument('<relation>', 'a view of analysts or a table; docs/schema.md lists them')
        .option('--format <format>', 'csv or ndjson', 'csv')
        .option('--to <file>', 'the file; - is the standard output')
        .option(
          '--raw',
          "leave cells as they are: without it, what a spreadsheet would compute gets a '",
        )
        .option('--origins <list>', 'kinds of answers to show, as in live,sandbox')
        .option('--timeout <duration>', 'how long the database may think', '1h'),
  },
  async ({ options, args, env, closers }) => {
    const { rowFormats, writeRows } = await import('../src/report/rows.ts')
    const { format, to, raw = false } = options
    if (!rowFormats.includes(format)) {
      throw new Misuse(`expected --format to be csv or ndjson, got ${format}`)
    }
    if (to === undefined) throw new Misuse('expected --to with a file, got nothing; - is stdout')
    const timeoutMs = readDuration(options.timeout)
    if (timeoutMs === null || timeoutMs === 0) {
      throw new Misuse(`expected --timeout to be a duration like 10m, got ${options.timeout}`)
    }
    const { openMill } = await import('../src/mill.ts')
    const { findRelation } = await import('../src/store/export.ts')
    const { hintOrigins, readOrigins } = await import('../src/store/analysis.ts')
    const { readBatches } = await import('../src/store/sql.ts')
    const { refreshDomains } = await import('../src/domains.ts')
    const config = readConfig(env)
    const mill = await openMill({ config, closers, say, name: 'export' })
    await refreshDomains(mill.db, { zone: config.zone })
    const origins = options.origins === undefined ? undefined : readOrigins(options.origins)
    const relation = await findRelation(mill.db, args[0] ?? '')
    const batches = readBatches(mill.pool, {
      text: `select * from ${relation}`,
      timeoutMs,
      origins,
      warn: say,
    })
    const text = writeRows(batches, format, raw)
    if (to === '-') {
      await pipeline(text, process.stdout, { end: false })
      return exits.done
    }
    const path = callerPath(env, to)
    // A file that is cut short must not look like a whole one.
    const part = `${path}.part`
    try {
      await pipeline(text, createWriteStream(part))
      await rename(part, path)
    } catch (error) {
      await rm(part, { force: true })
      throw error
    }
    say(`${relation} is in ${path}`)
    const hint = await hintOrigins(mill.db, origins)
    if (hint !== null) say(hint)
    return exits.done
  },
)
