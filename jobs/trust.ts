// Flags and help text for the `trust` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'trust',
  examples: [
    'npm run trust                                                  quarantined runs and answers, and decisions in force',
    'npm run trust -- show --run 12                                 its answers, with their scores',
    'npm run trust -- distrust --run 12 --because "casino pages"    a whole run',
    'npm run trust -- distrust --date 2026-11-03 --list shop --because "..."',
    'npm run trust -- distrust --answer 881 --answer 882 --because "..."',
    'npm run trust -- accept --run 12 --usual --because "new layout"   later runs are compared with it',
    'npm run trust -- undo 3                                        revokes decision 3',
  ],
  define: (program) =>
    program
      .argument('[action]', 'show, accept, distrust or undo', 'show')
      .argument('[subject]', 'the number of a decision to undo')
      .option('--run <id>', 'one run')
      .option('--date <day>', 'all runs with this run date')
      .option('--list <name>', 'with --date: only runs of this list')
      .option('--answer <id...>', 'single answers')
      .option('--because <text>', 'why')
      .option('--by <name>', 'name of the person who decides (default: your login name)')
      .option('--usual', 'with accept: later runs are compared with this one'),
  load: async () => (await import('../src/features/alerts/trust-command.ts')).runTrust,
})
