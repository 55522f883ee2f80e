// Flags and help of outlook.

import { runCommand } from '../src/base/cli/command.ts'
import { countFlag } from '../src/base/cli/flags.ts'

await runCommand(
  {
    name: 'outlook',
    about:
      'Says what open runs and the coming nights will cost, what will still be fresh, and when the floor is met.',
    examples: ['npm run outlook', 'npm run outlook -- --days 30', 'npm run -s outlook -- --json'],
    define: (program) =>
      program
        .option(
          '--days <n>',
          'how far to look',
          (text) => Math.min(countFlag('days', text), 400),
          7,
        )
        .option('--keep', 'keep it for the view analysis.outlook, as workers and schedulers do')
        .option('--json', 'print one JSON object'),
  },
  async () => (await import('../src/core/forecast/command.ts')).showOutlook,
)
