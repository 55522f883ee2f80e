// Flags and help text for the `notify` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'notify',
  examples: [
    'npm run notify                              the newest notices: sent, waiting or given up',
    'npm run notify -- --test                    sends one test notice and prints the response',
    'npm run -s notify -- --limit 100 --json',
  ],
  define: (program) =>
    program
      .option(
        '--test',
        'send one test notice now; exit with code 5 if the receiver does not accept it',
      )
      .option('--limit <n>', 'number of notices', '20'),
  load: async () => (await import('../src/features/notifications/command.ts')).runNotify,
})
