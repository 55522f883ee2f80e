// Flags and help text for the `stand-in` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'stand-in',
  more: 'Runs a stand-in for the search API, for tests and benchmarks.',
  examples: [
    'npm run stand-in -- --canned --latency 100',
    `npm run stand-in -- --faults '{"credits": 500, "faults": [{"kind": "drop", "chance": 0.02}]}'`,
  ],
  drains: true,
  define: (program) =>
    program
      .option('--port <n>', 'port to listen on, or 0 for any free port', '0')
      .option('--host <address>', 'address to listen on', '127.0.0.1')
      .option(
        '--faults <file or JSON>',
        'inject these faults, and keep a separate record of charges',
      )
      .option('--canned', 'return prepared answers')
      .option('--latency <ms>', 'with --canned: time until an answer is returned', '0'),
  load: async () => (await import('../test/faults/api/standin.ts')).runStandIn,
})
