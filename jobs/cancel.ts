// Flags and help of cancel.

import { runCommand } from '../src/base/cli/command.ts'
import { runNumber } from '../src/base/cli/flags.ts'

await runCommand(
  {
    name: 'cancel',
    about:
      'Ends a run, or the open runs of a list: their open tasks are cancelled, their answers stay.',
    examples: ['npm run cancel -- --run 12', 'npm run cancel -- --list keywords'],
    define: (program) =>
      program
        .option('--run <n>', 'number of the run, as npm run status shows it', runNumber)
        .option('--list <name>', 'all open runs of this list')
        .option('--json', 'print what was cancelled as JSON'),
  },
  async () => (await import('../src/core/runs/retry.ts')).runCancel,
)
