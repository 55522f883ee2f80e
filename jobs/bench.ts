// Flags and help text for the `bench` command.

import { benchNames } from '../test/bench/names.ts'
import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'bench',
  more: 'Benchmarks the program on this machine, with its own servers on the loopback interface.',
  examples: [
    'npm run bench                     each part of the program, the whole program, and two plain workers for comparison',
    'npm run bench -- lists            reading and planning lists',
    'npm run bench -- ledger           reservation and settlement, compared with the whole program',
    'npm run bench -- hosts            2 and 8 workers with 0.5 to 20 ms latency; a lost connection; a frozen host',
    'npm run bench -- growth           inserts into empty and full tables',
    'npm run bench -- soak             memory use over 200,000 queries with 500 lanes',
    'npm run bench -- service          the search service; see also enrich, quality and analysis',
    'npm run bench -- desk             each desk page, with 300,000 and 3 million results',
    'npm run bench -- partitions       results in one table and in monthly partitions; --rows N',
    'npm run bench -- repeats          titles and snippets stored once, or with each result',
    'npm run bench -- archive          the cost of archiving, compared with a plain COPY; --rows N',
    'npm run bench -- beside --beside ../old --runs 10   alternates between this checkout and ../old',
    'npm run -s bench -- --short --json',
  ],
  define: (program) =>
    program
      .argument('[name]', `one of ${benchNames.join(', ')}`, 'mill')
      .option('--runs <n>', 'number of runs; the median is reported', '3')
      .option('--rows <n>', 'number of rows, for benchmarks that fill tables')
      .option('--beside <folder>', 'another checkout to compare with')
      .option('--short', 'use small data sets and compare only CPU time (for busy machines)'),
  load: async () => (await import('../test/bench/bench.ts')).runBench,
})
