// Flags and help of notify.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'notify',
    about: 'Shows what MILL_WEBHOOK was told and what waits, or sends it a test.',
    examples: [
      'npm run notify                              the newest notices: told, waiting or given up',
      'npm run notify -- --test                    sends one test notice, prints what came back',
      'npm run -s notify -- --limit 100 --json',
    ],
    define: (program) =>
      program
        .option(
          '--test',
          'send one test notice now; exit code 5 when the receiver does not take it',
        )
        .option('--limit <n>', 'how many notices', '20')
        .option('--json', 'print one JSON object'),
  },
  async () => (await import('../src/features/notifications/command.ts')).runNotify,
)
