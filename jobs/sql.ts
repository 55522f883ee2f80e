// Flags and help text for the `sql` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'sql',
  examples: [
    'npm run sql',
    'npm run sql -- ranks --crossed 10 --change down',
    'npm run sql -- keyword --show history --q "running shoes" --domain example.com',
    'npm run sql -- domains --device mobile --tag "brand and not sale" --between 2026-11-01..2026-11-08',
    'npm run sql -- "select * from analysis.movers limit 5" --format csv',
  ],
  define: (program) =>
    program
      .argument('[question]', 'name of a question, or SQL in quotes')
      .argument(
        '[parameters...]',
        'parameters of the question, as --name value, and --show for its other outputs; --list, --tag, --country, --place, --language and --device select queries; --since, --until and --between select days',
      )
      .allowUnknownOption()
      .option('--format <format>', 'table, csv, json or parquet', 'table')
      .option('--timeout <duration>', 'query time limit', '60s')
      .option('--origins <list>', 'answer origins to show, such as live,sandbox')
      .option('--suspects', 'include answers from suspect nights')
      .option('--with-archive', 'also read the archive (docs/archive.md)')
      .option('--archived <days>', 'only these archived days: FROM..TO')
      .option('--archive <folder>', 'archive folder, if the archive was moved')
      .option('--limit <n>', 'maximum rows in a table', '200'),
  load: async () => (await import('../src/features/analysis/sql-command.ts')).askTables,
})
