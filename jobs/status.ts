// Flags and help text for the `status` command.

import { runCommand } from '../src/base/cli/command.ts'
import { runNumber } from '../src/base/cli/flags.ts'

await runCommand({
  name: 'status',
  examples: [
    'npm run status',
    'npm run status -- --watch',
    'npm run status -- --unknown              calls that may have been charged but have no answer',
    'npm run status -- --settings             every setting and its source',
    'npm run -s status -- --json',
  ],
  define: (program) =>
    program
      .option('--run <n>', 'only this run', runNumber)
      .option('--watch', 'refresh every two seconds')
      .option('--unknown', 'list calls with an unknown outcome')
      .option('--settings', 'list the settings and their sources'),
  load: async () => (await import('../src/core/runs/status-command.ts')).showStatus,
})
