// Flags and help of chaos.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'chaos',
    about:
      'Kills, freezes, cuts and fills everything on purpose, then compares the books of the API with the tables.',
    examples: [
      'npm run chaos -- --seconds 60',
      'npm run chaos -- --minutes 30 --backend redis',
      'npm run chaos -- --seconds 60 --seed storm   the same misfortunes in the same order',
    ],
    drains: true,
    define: (program) =>
      program
        .option('--seconds <n>', 'how long faults are made', '60')
        .option('--minutes <n>', 'the same in minutes')
        .option('--backend <name>', 'postgres or redis', 'postgres')
        .option('--workers <n>', 'worker processes', '4')
        .option('--lanes <n>', 'paid calls in flight for each of them', '8')
        .option('--seed <text>', 'what the misfortunes are drawn from')
        .option('--replays', 'the API gives the same answer to the same key and charges it once')
        .option(
          '--lies',
          'prices that are not told, answers to other queries, changed keys, other spenders',
        )
        .option('--keep', 'leave the folder with everything that was said')
        .option('--json', 'print the figures as one JSON object'),
  },
  async () => (await import('../test/faults/command.ts')).runStorm,
)
