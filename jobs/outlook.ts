import type { OutlookOptions } from '../src/commands/outlook.ts'
import { runCommand } from '../src/shared/terminal/command.ts'
import { countFlag } from '../src/shared/terminal/flags.ts'

await runCommand<OutlookOptions>(
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
  async (call) => (await import('../src/commands/outlook.ts')).showOutlook(call),
)
