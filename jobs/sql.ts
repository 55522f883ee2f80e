// Flags and help of sql.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'sql',
    about:
      'Answers a question of the library (npm run sql lists them), or runs any SQL statement that only reads.',
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
          'parameters of the question, as --name value, and --show for what else it shows; --list, --tag, --country, --place, --language and --device narrow nearly every one to some queries, --since, --until and --between to some days',
        )
        .allowUnknownOption()
        .option('--format <format>', 'table, csv, json or parquet', 'table')
        .option('--json', 'the same as --format json')
        .option('--timeout <duration>', 'how long the database may think', '60s')
        .option('--origins <list>', 'kinds of answers to show, as in live,sandbox')
        .option('--suspects', 'show answers of suspect nights as well')
        .option('--with-archive', 'read what is in the archive as well (docs/archive.md)')
        .option('--archived <days>', 'only these days of the archive: FROM..TO')
        .option('--archive <place>', 'the folder or bucket where the archive lies, if it was moved')
        .option('--most <n>', 'rows of a table at most', '200'),
  },
  async () => (await import('../src/features/analysis/sql-command.ts')).askTables,
)
