// Flags and help text for the `verify` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'verify',
  more: 'Prints one line for each group of checks, and exits with 1 if a check fails.',
  examples: [
    'npm run verify',
    'npm run verify -- --deep',
    'npm run verify -- --max-external 100',
    'npm run -s verify -- --json',
  ],
  define: (program) =>
    program
      .option('--deep', 'parse every stored body again, not only a sample of 500')
      .option(
        '--max-external <credits>',
        'exit with 1 if external spend exceeds this many credits',
      ),
  load: async () => (await import('../src/features/verify/command.ts')).verify,
})
