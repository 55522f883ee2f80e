// Flags and help of status.

import { runCommand } from '../src/base/cli/command.ts'
import { runNumber } from '../src/base/cli/flags.ts'

await runCommand(
  {
    name: 'status',
    about: 'Shows runs, credits, stops with their reasons, and what to type next.',
    examples: [
      'npm run status',
      'npm run status -- --watch',
      'npm run status -- --unknown              calls that may have been charged without an answer',
      'npm run status -- --settings             every setting and where it came from',
      'npm run -s status -- --json',
    ],
    define: (program) =>
      program
        .option('--run <n>', 'only this run', runNumber)
        .option('--watch', 'show it again every two seconds')
        .option('--unknown', 'list calls whose outcome nobody could read')
        .option('--settings', 'list the settings and where each came from')
        .option('--json', 'print one JSON object'),
  },
  async () => (await import('../src/core/runs/status-command.ts')).showStatus,
)
