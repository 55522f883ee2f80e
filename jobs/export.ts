import type { ExportOptions } from '../src/commands/export/export.ts'
import { runCommand } from '../src/shared/terminal/command.ts'
import { withheld } from '../src/store/analysis/analyst.ts'

await runCommand<ExportOptions>(
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
  async (call) => (await import('../src/commands/export/export.ts')).exportRelation(call),
)
