// Flags and help text for the `forecast` command.

import { runCommand } from '../src/base/cli/command.ts'
import { countFlag } from '../src/base/cli/flags.ts'

await runCommand({
  name: 'forecast',
  examples: ['npm run forecast', 'npm run forecast -- --days 30', 'npm run -s forecast -- --json'],
  define: (program) =>
    program
      .option('--days <n>', 'number of days', (text) => Math.min(countFlag('days', text), 400), 7)
      .option('--keep', 'store the forecast in analysis.forecast, as workers and schedulers do'),
  load: async () => (await import('../src/core/forecast/command.ts')).showForecast,
})
