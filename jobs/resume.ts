// Flags and help of resume.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'resume',
    about:
      'Lifts a stop: one call may go out to see the balance, and a refused key is tried again.',
    examples: [
      'npm run resume',
      'npm run resume -- --forget-prices',
      'npm run resume && npm run work -- --drain',
    ],
    define: (program) =>
      program
        .option('--forget-prices', 'forget what calls have cost: an odd price need not be expected')
        .option('--json', 'print what was lifted as JSON'),
  },
  async () => (await import('../src/core/runs/retry.ts')).runResume,
)
