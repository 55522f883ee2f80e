// Flags and help text for the `report` command.

import { runCommand } from '../src/base/cli/command.ts'
import { collect } from '../src/base/cli/flags.ts'

await runCommand({
  name: 'report',
  more: 'The file can be opened offline.',
  examples: [
    'npm run report -- --to report.html',
    'npm run report -- --summary --send --desk https://desk.example.com',
    'npm run report -- --to report.html --domains example.com,example.org',
    'npm run report -- --to report.html --list keywords --device mobile --tag "brand and not sale"',
    'npm run report -- --to november.html --since 2026-11-01 --until 2026-11-30 --origins live,sandbox',
  ],
  define: (program) =>
    program
      .option('--to <file>', 'the file to write')
      .option('--summary', 'write the overview as one short message, for email or --send')
      .option('--send', 'with --summary: send it to the configured webhook')
      .option('--desk <address>', 'with --summary: base address of its links')
      .option('--domains <list>', 'domains to follow, at most eight (default: our domains)')
      .option('--list <name>', 'only queries in this list; may be repeated', collect)
      .option(
        '--tag <labels>',
        'only queries with matching tags, as in "brand and not sale"',
        collect,
      )
      .option('--country <codes>', 'only queries for these countries, such as de,at', collect)
      .option('--place <name>', 'only queries for this place', collect)
      .option('--language <codes>', 'only queries in these languages', collect)
      .option('--device <names>', 'only queries for these devices, such as mobile', collect)
      .option(
        '--since <day>',
        'the first day to cover; moves are shown from this day on (default: ninety days ago)',
      )
      .option('--until <day>', 'the last day to cover (default: the newest day)')
      .option('--between <days>', 'first and last day, as in 2026-11-01..2026-11-08')
      .option('--origins <list>', 'answer origins to show, such as live,sandbox'),
  load: async () => (await import('../src/desk/report/command.ts')).writeReport,
})
