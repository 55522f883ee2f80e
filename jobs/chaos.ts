// Flags and help text for the `chaos` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'chaos',
  more: 'Injects faults (kills, freezes, lost connections, full disks) while workers run, then compares the API’s records with the tables.',
  examples: [
    'npm run chaos -- --seconds 60',
    'npm run chaos -- --minutes 30 --backend redis',
    'npm run chaos -- --seconds 60 --seed storm   injects the same faults in the same order',
  ],
  drains: true,
  define: (program) =>
    program
      .option('--seconds <n>', 'how long to inject faults', '60')
      .option('--minutes <n>', 'how long to inject faults, in minutes')
      .option('--backend <name>', 'postgres or redis', 'postgres')
      .option('--workers <n>', 'worker processes', '4')
      .option('--lanes <n>', 'paid calls in flight per worker', '8')
      .option('--seed <text>', 'seed for the random faults')
      .option(
        '--replays',
        'the API returns the same answer for the same idempotency key and charges only once',
      )
      .option(
        '--lies',
        'simulate unreported prices, answers to other queries, key changes and external spend',
      )
      .option('--keep', 'keep the folder with all logs'),
  load: async () => (await import('../test/faults/command.ts')).runStorm,
})
