// Flags and help text for the `health` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'health',
    about:
      'Exits with 0 if a process on this host is healthy, and nonzero otherwise, for use in containers. Without MILL_METRICS_PORT, checks the database instead.',
    examples: [
      'npm run health                        the worker or scheduler at MILL_METRICS_PORT is running',
      'npm run health -- --ready             its dependencies are reachable',
      'npm run health -- --tables            the database answers, and its tables match this release',
      'npm run health -- --url http://127.0.0.1:8787/healthz     the search service',
    ],
    define: (program) =>
      program
        .option('--ready', 'check readiness: database, queue and API are reachable')
        .option(
          '--tables',
          'check the tables, even if a worker or scheduler on this host could answer',
        )
        .option('--url <address>', 'request this address instead'),
  },
  async () => (await import('../src/features/admin/health.ts')).runHealth,
)
