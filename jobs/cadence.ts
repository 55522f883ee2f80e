// Flags and help of cadence.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'cadence',
    about:
      'Shows how often the queries of each list are asked, and with --backtest what resting would have saved and missed. Reads only.',
    examples: [
      'npm run cadence                                  lists that rest: intervals, savings, what the draws by chance saw',
      'npm run cadence -- --backtest                    what resting would have come to, for every list',
      'npm run cadence -- --backtest --list keywords    for one list, with its tags',
      'npm run cadence -- --backtest --longest 7d --share 30%',
      'npm run -s cadence -- --backtest --json',
    ],
    define: (program) =>
      program
        .option('--backtest', 'replay the nights that are there as if the list had rested')
        .option('--list <name>', 'only this list')
        .option('--longest <days>', 'longest interval of the backtest, like 14d', '14d')
        .option('--share <percent>', 'most that asking may cost, of daily asking', '48%')
        .option('--json', 'one JSON object on stdout'),
  },
  async () => (await import('../src/features/cadence/command.ts')).runCadence,
)
