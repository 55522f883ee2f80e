// Flags and help text for the `trust` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'trust',
  examples: [
    'npm run trust                                                  quarantined runs and answers, and decisions in force',
    'npm run trust -- show --run 12                                 answers of run 12, with their scores',
    'npm run trust -- distrust --run 12 --because "casino pages"    distrusts a whole run',
    'npm run trust -- distrust --date 2026-11-03 --list shop --because "..."',
    'npm run trust -- distrust --answer 881 --answer 882 --because "..."',
    'npm run trust -- accept --run 12 --usual --because "new layout"   compares later runs with run 12',
    'npm run trust -- undo 3                                        revokes decision 3',
  ],
  define: (program) =>
    program
      .argument('[action]', 'show, accept, distrust or undo', 'show')
      .argument('[subject]', 'the number of the decision to undo')
      .option('--run <id>', 'one run')
      .option('--date <day>', 'all runs with this run date')
      .option('--list <name>', 'with --date: only runs of this list')
      .option('--answer <id...>', 'single answers')
      .option('--because <text>', 'reason for the decision')
      .option('--by <name>', 'name of the person who decides (default: your login name)')
      .option('--usual', 'with accept: compare later runs with this one'),
  load: async () => (await import('../src/features/alerts/trust-command.ts')).runTrust,
})
