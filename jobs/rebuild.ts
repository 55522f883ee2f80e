// Flags and help of rebuild.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'rebuild',
    about:
      'Makes the queue again from the tables: one job for each slice with an open task. With --days it adds up the days that are over instead, which `npm run nightly` does by itself: trends then read their sums.',
    examples: [
      'npm run rebuild',
      'npm run -s rebuild -- --json',
      'npm run rebuild -- --days',
      'npm run rebuild -- --days --since 2026-10-01',
    ],
    drains: true,
    define: (program) =>
      program
        .option('--days', 'add up days that are over, for views and questions about many days')
        .option('--since <day>', 'with --days: the first day to add up')
        .option('--json', 'print how much it was as JSON'),
  },
  async () => (await import('../src/features/admin/rebuild.ts')).runRebuild,
)
