import type { CancelFlags } from '../src/core/runs/retry.ts'
import { runCommand } from '../src/base/cli/command.ts'
import { runNumber } from '../src/base/cli/flags.ts'

await runCommand<CancelFlags>(
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
  async (call) => (await import('../src/core/runs/retry.ts')).runCancel(call),
)
