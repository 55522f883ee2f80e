import type { CancelFlags } from '../src/commands/cancel.ts'
import { runCommand } from '../src/shared/terminal/command.ts'
import { runNumber } from '../src/shared/terminal/flags.ts'

await runCommand<CancelFlags>(
  {
    name: 'cancel',
    about: 'Ends a run: its open tasks are cancelled, its answers stay.',
    examples: ['npm run cancel -- --run 12'],
    define: (program) =>
      program
        .option('--run <n>', 'number of the run, as npm run status shows it', runNumber)
        .option('--json', 'print what was cancelled as JSON'),
  },
  async (call) => (await import('../src/commands/cancel.ts')).runCancel(call),
)
