// Flags and help text for the `reparse` command.

import { runCommand } from '../src/base/cli/command.ts'
import { runNumber } from '../src/base/cli/flags.ts'

await runCommand({
  name: 'reparse',
  examples: [
    'npm run reparse                 answers that could not be read or that have rejected rows',
    'npm run reparse -- --run 12     only answers from run 12',
    'npm run reparse -- --all        every answer with a stored body',
  ],
  define: (program) =>
    program
      .option('--all', 'parse every stored body again and replace its rows')
      .option('--run <n>', 'only answers from this run', runNumber),
  load: async () => (await import('../src/core/runs/reparse.ts')).runReparse,
})
