// Flags and help of budget.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'budget',
    about:
      'Shows every budget and what is left of it; sets what a list may use in a calendar month.',
    examples: [
      'npm run budget',
      'npm run budget -- --list keywords --credits 5000',
      'npm run budget -- --list keywords --none',
    ],
    define: (program) =>
      program
        .option('--list <name>', 'the list whose budget is set')
        .option('--credits <n>', 'what its runs dated in one month may use together')
        .option('--none', 'take its budget away')
        .option('--json', 'print one JSON object'),
  },
  async () => (await import('../src/features/admin/budget.ts')).runBudget,
)
