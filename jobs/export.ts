import { pipeline } from 'node:stream/promises'
import { runCommand, say } from '../src/shared/terminal/command.ts'
import { callerPath, readConfig } from '../src/shared/config.ts'
import { readDuration } from '../src/shared/time/duration.ts'
import { exits, Misuse } from '../src/shared/errors.ts'
import { withheld } from '../src/store/analysis/analyst.ts'

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
        .argument(
          '<relation>',
          `a view of analysts or a table; docs/schema.md lists them. The mill's own bookkeeping cannot be exported: ${withheld.join(', ')}`,
        )
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
    const { rowFormats, writeRows } = await import('../src/commands/export/rows.ts')
    const { findTarget, writeTarget } = await import('../src/commands/export/target.ts')
    const { format, to, raw = false } = options
    if (!rowFormats.includes(format)) {
      throw new Misuse(`expected --format to be csv or ndjson, got ${format}`)
    }
    if (to === undefined) throw new Misuse('expected --to with a file, got nothing; - is stdout')
    const path = callerPath(env, to)
    const target = to === '-' ? null : await findTarget(path, to)
    const timeoutMs = readDuration(options.timeout)
    if (timeoutMs === null || timeoutMs === 0) {
      throw new Misuse(`expected --timeout to be a duration like 10m, got ${options.timeout}`)
    }
    const { openMill } = await import('../src/commands/mill/mill.ts')
    const { findRelation, selectRows } = await import('../src/store/analysis/export.ts')
    const { hintOrigins, readOrigins } = await import('../src/store/analysis/origins.ts')
    const { readBatches } = await import('../src/store/analysis/ask.ts')
    const { refreshDomains } = await import('../src/commands/domains/refresh.ts')
    const config = readConfig(env)
    const mill = await openMill({ config, closers, say, name: 'export' })
    await refreshDomains(mill.db, { zone: config.zone })
    const origins = options.origins === undefined ? undefined : readOrigins(options.origins)
    const relation = await findRelation(mill.db, args[0] ?? '')
    const batches = readBatches(mill.pool, {
      text: selectRows(relation, format),
      timeoutMs,
      origins,
      warn: say,
    })
    const text = writeRows(batches, format, raw)
    if (target === null) {
      await pipeline(text, process.stdout, { end: false })
      return exits.done
    }
    await writeTarget(target, text)
    say(`${relation} is in ${path}`)
    const hint = relation.startsWith('analysis.') ? await hintOrigins(mill.db, origins) : null
    if (hint !== null) say(hint)
    return exits.done
  },
)
