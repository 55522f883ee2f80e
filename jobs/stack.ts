// Flags and help text for the `stack` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'stack',
  examples: [
    'npm run stack -- status',
    'npm run -s stack -- status --json',
    'npm run stack -- stop',
  ],
  define: (program) =>
    program.argument(
      '<action>',
      'status: show the running servers and their addresses; stop: stop both servers and keep the data',
    ),
  load: async () => (await import('../src/features/admin/stack.ts')).runStack,
})
