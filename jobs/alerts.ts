// Flags and help text for the `alerts` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'alerts',
  examples: [
    'npm run alerts                       the newest alerts',
    'npm run alerts -- --standing         alerts that have not recovered',
    'npm run alerts -- show 12            both answers, the domain that took the position, and a question that shows the details',
    'npm run alerts -- rules              the rules in force',
    'npm run alerts -- load               load all of inputs/config/alerts.csv, or nothing',
    'npm run alerts -- load mine.csv',
  ],
  define: (program) =>
    program
      .argument('[action]', 'list, show, rules or load', 'list')
      .argument('[subject]', 'the number of an alert, or a file to load')
      .option('--standing', 'only alerts that have not recovered')
      .option('--rule <name>', 'only alerts raised by this rule')
      .option('--limit <n>', 'number of alerts, newest first', '20'),
  load: async () => (await import('../src/features/alerts/command.ts')).runAlerts,
})
