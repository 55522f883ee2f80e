// Flags and help text for the `rebuild` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'rebuild',
  more: 'With --days, the command instead computes the sums of finished days for trends; `npm run nightly` does this automatically.',
  examples: [
    'npm run rebuild',
    'npm run -s rebuild -- --json',
    'npm run rebuild -- --days',
    'npm run rebuild -- --days --since 2026-10-01',
  ],
  drains: true,
  define: (program) =>
    program
      .option(
        '--days',
        'compute the sums of finished days for views and questions that cover many days',
      )
      .option('--since <day>', 'with --days: the first day to compute'),
  load: async () => (await import('../src/features/admin/rebuild.ts')).runRebuild,
})
