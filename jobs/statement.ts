// Flags and help text for the `statement` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'statement',
  examples: [
    'npm run statement',
    'npm run statement -- --since 2026-11-01 --by list',
    'npm run -s statement -- --by run --json',
  ],
  define: (program) =>
    program
      .option('--account <name>', 'only this account')
      .option('--since <date>', 'from this day on')
      .option('--until <date>', 'up to, but not including, this day')
      .option('--by <what>', 'sums by day, list or run', 'day'),
  load: async () => (await import('../src/core/runs/statement.ts')).showStatement,
})
