// Flags and help of verify.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'verify',
    about:
      'Checks that the live data keeps every promise: one line for each group of checks, exit code 1 when one is broken.',
    examples: [
      'npm run verify',
      'npm run verify -- --deep',
      'npm run verify -- --max-external 100',
      'npm run -s verify -- --json',
    ],
    define: (program) =>
      program
        .option('--deep', 'read every kept body again, not a sample of 500')
        .option('--max-external <credits>', 'exit 1 when others spent more credits than that')
        .option('--json', 'print the checks as one JSON object'),
  },
  async () => (await import('../src/features/verify/command.ts')).verify,
)
