// Flags and help of alerts.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'alerts',
    about:
      'Shows what moved in ranks and shares, with evidence, and puts the rules in force that say what is to be told.',
    examples: [
      'npm run alerts                       the newest alerts',
      'npm run alerts -- --standing         those that have not recovered',
      'npm run alerts -- show 12            both answers, who took the place, the question that shows it',
      'npm run alerts -- rules              what is looked for after each night',
      'npm run alerts -- load               reads inputs/config/alerts.csv; all of it or nothing',
      'npm run alerts -- load mine.csv',
    ],
    define: (program) =>
      program
        .argument('[action]', 'list, show, rules or load', 'list')
        .argument('[subject]', 'the number of an alert, or a file to load')
        .option('--standing', 'only alerts that have not recovered')
        .option('--rule <name>', 'only alerts of this rule')
        .option('--limit <n>', 'the newest so many', '20')
        .option('--json', 'one JSON object on stdout'),
  },
  async () => (await import('../src/features/alerts/command.ts')).runAlerts,
)
