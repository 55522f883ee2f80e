// Flags and help text for the `export` command.

import { runCommand } from '../src/base/cli/command.ts'
import { withheld } from '../src/base/database/reader-role.ts'

await runCommand({
  name: 'export',
  more: 'Rows are streamed, so exports of any size need little memory.',
  examples: [
    'npm run export -- movers --to movers.csv',
    'npm run export -- results --to results.ndjson',
    'npm run export -- results --since 2026-11-01 --device mobile --to results.parquet',
    'npm run export -- movers --to movers.xlsx',
    'npm run export -- --question domains --days 30 --to winners.csv --bom',
    'npm run export -- searches --to - | head',
  ],
  define: (program) =>
    program
      .argument(
        '[relation]',
        `an analyst view or a table; docs/schema.md lists them. querymill's internal tables cannot be exported: ${withheld.join(', ')}`,
      )
      .argument(
        '[flags...]',
        'after the name: --since, --until and --between select days; --list, --tag, --country, --place, --language and --device select queries; after --question: its parameters',
      )
      .allowUnknownOption()
      .option(
        '--question <name>',
        'the name of a question (npm run sql lists them), or SQL in quotes',
      )
      .option('--where <condition>', 'only rows for which this SQL condition is true')
      .option(
        '--format <format>',
        'csv, ndjson, parquet or xlsx (default: based on the file name, otherwise csv)',
      )
      .option('--to <file>', 'file to write; - for standard output')
      .option(
        '--raw',
        "write cells unchanged; by default, text that a spreadsheet would evaluate is prefixed with '",
      )
      .option('--delimiter <sign>', 'CSV delimiter: comma, semicolon, tab or pipe', 'comma')
      .option('--bom', 'start CSV files with a byte order mark, for Excel')
      .option('--suspects', 'include answers from suspect nights')
      .option('--origins <list>', 'answer origins to show, such as live,sandbox')
      .option('--with-archive', 'also read the archive (docs/archive.md)')
      .option('--archived <days>', 'only these archived days: FROM..TO')
      .option('--archive <folder>', 'archive folder, if the archive was moved')
      .option('--timeout <duration>', 'query time limit', '1h'),
  load: async () => (await import('../src/features/analysis/export-command.ts')).exportRelation,
})
