// Flags and help text for the `alerts` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'alerts',
  examples: [
    'npm run alerts                       the newest alerts',
    'npm run alerts -- --standing         alerts that are still open',
    'npm run alerts -- show 12            both answers, the domain that took the position, and the question to run for details',
    'npm run alerts -- rules              the rules in force',
    'npm run alerts -- load               loads inputs/config/alerts.csv completely or not at all',
    'npm run alerts -- load mine.csv',
  ],
  define: (program) =>
    program
      .argument('[action]', 'list, show, rules or load', 'list')
      .argument('[subject]', 'the number of an alert, or a file to load')
      .option('--standing', 'only alerts that are still open')
      .option('--rule <name>', 'only alerts raised by this rule')
      .option('--limit <n>', 'number of alerts, newest first', '20'),
  load: async () => (await import('../src/features/alerts/command.ts')).runAlerts,
})
