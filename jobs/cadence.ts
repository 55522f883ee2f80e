// Flags and help text for the `cadence` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'cadence',
  more: '--backtest shows the credits that an adaptive cadence would have saved and the moves that it would have missed. Nothing is changed.',
  examples: [
    'npm run cadence                                  intervals, savings and random-sample results of adaptive lists',
    'npm run cadence -- --backtest                    simulates an adaptive cadence for every list',
    'npm run cadence -- --backtest --list keywords    simulates an adaptive cadence for one list and its tags',
    'npm run cadence -- --backtest --longest 7d --share 30%',
    'npm run -s cadence -- --backtest --json',
  ],
  define: (program) =>
    program
      .option('--backtest', 'replay the stored nights with an adaptive cadence')
      .option('--list <name>', 'only this list')
      .option('--longest <days>', 'longest interval in the backtest, such as 14d', '14d')
      .option(
        '--share <percent>',
        'maximum number of calls, as a percentage of the calls with a daily cadence',
        '48%',
      ),
  load: async () => (await import('../src/features/cadence/command.ts')).runCadence,
})
