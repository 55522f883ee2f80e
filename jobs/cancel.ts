// Flags and help text for the `cancel` command.

import { runCommand, addYes } from '../src/base/cli/command.ts'
import { runNumber } from '../src/base/cli/flags.ts'

await runCommand({
  name: 'cancel',
  more: 'Open tasks are cancelled; answers are kept.',
  examples: [
    'npm run cancel -- --run 12              preview; changes nothing',
    'npm run cancel -- --run 12 --yes        cancels the run',
    'npm run cancel -- --list keywords --yes',
  ],
  define: (program) =>
    addYes(program)
      .option('--run <n>', 'run number, as shown by npm run status', runNumber)
      .option('--list <name>', 'all open runs of this list'),
  load: async () => (await import('../src/core/runs/retry.ts')).runCancel,
})
