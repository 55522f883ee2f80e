// Flags and help text for the `resume` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'resume',
  more: 'Allows one call to check the balance, and tries a refused key again.',
  examples: [
    'npm run resume',
    'npm run resume -- --forget-prices',
    'npm run resume && npm run work -- --drain',
  ],
  define: (program) =>
    program.option(
      '--forget-prices',
      'forget the prices paid so far, for instance after an outlier',
    ),
  load: async () => (await import('../src/core/runs/retry.ts')).runResume,
})
