// Flags and help text for the `report` command.

import { runCommand } from '../src/base/cli/command.ts'
import { collect } from '../src/base/cli/flags.ts'

await runCommand({
  name: 'report',
  more: 'The file needs no network.',
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
      .option('--domains <list>', 'domains to follow, at most eight (default: ours)')
      .option('--list <name>', 'only queries in this list or these lists', collect)
      .option(
        '--tag <labels>',
        'only queries with matching labels, as in "brand and not sale"',
        collect,
      )
      .option('--country <codes>', 'only queries asked for these countries, as in de,at', collect)
      .option('--place <name>', 'only queries asked for this place', collect)
      .option('--language <codes>', 'only queries asked in these languages', collect)
      .option('--device <names>', 'only queries asked for desktop or mobile', collect)
      .option(
        '--since <day>',
        'the first day; moves are shown from then on (default: ninety days ago)',
      )
      .option('--until <day>', 'the last day (default: the newest)')
      .option('--between <days>', 'first and last day, as in 2026-11-01..2026-11-08')
      .option('--origins <list>', 'answer origins to show, such as live,sandbox'),
  load: async () => (await import('../src/desk/report/command.ts')).writeReport,
})
