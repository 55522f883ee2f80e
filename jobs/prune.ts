// Flags and help of prune.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'prune',
    about: 'Deletes old response bodies. Rows, ledger and analyses stay as they are.',
    examples: [
      'npm run prune -- --older 90d --dry-run    shows how much would be removed',
      'npm run prune -- --older 90d',
      'npm run -s prune -- --older 2w --json',
    ],
    define: (program) =>
      program
        .option('--older <age>', 'remove bodies received longer ago than this, like 90d, 2w or 12h')
        .option('--dry-run', 'count, and remove nothing')
        .option('--json', 'print what was removed as one JSON object'),
  },
  async () => (await import('../src/features/forget/prune.ts')).prune,
)
