// Flags and help text for the `health` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'health',
  more: 'Without MILL_METRICS_PORT, checks the database instead.',
  examples: [
    'npm run health                        checks that the worker or scheduler at MILL_METRICS_PORT is running',
    'npm run health -- --ready             checks that the database, the queue and the API are reachable',
    'npm run health -- --tables            checks that the database responds and that its tables match this release',
    'npm run health -- --url http://127.0.0.1:8787/healthz     checks the search service',
  ],
  define: (program) =>
    program
      .option(
        '--ready',
        'check readiness: whether the database, the queue and the API are reachable',
      )
      .option('--tables', 'check the tables, even if a worker or scheduler is running on this host')
      .option('--url <address>', 'request this address instead'),
  load: async () => (await import('../src/features/admin/health.ts')).runHealth,
})
