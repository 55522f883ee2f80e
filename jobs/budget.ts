// Flags and help text for the `budget` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'budget',
    about: 'Shows every budget and its remaining credits, or sets the monthly budget of a list.',
    examples: [
      'npm run budget',
      'npm run budget -- --list keywords --credits 5000',
      'npm run budget -- --list keywords --none',
    ],
    define: (program) =>
      program
        .option('--list <name>', 'the list whose budget is set')
        .option('--credits <n>', 'maximum credits for all its runs in one month')
        .option('--none', 'remove its budget'),
  },
  async () => (await import('../src/features/admin/budget.ts')).runBudget,
)
