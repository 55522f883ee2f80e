// Flags and help text for the `budget` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'budget',
  examples: [
    'npm run budget',
    'npm run budget -- --list keywords --credits 5000',
    'npm run budget -- --list keywords --none',
  ],
  define: (program) =>
    program
      .option('--list <name>', 'list to set a budget for')
      .option('--credits <n>', 'maximum credits for all runs of the list in one month')
      .option('--none', "remove the list's budget"),
  load: async () => (await import('../src/features/admin/budget.ts')).runBudget,
})
