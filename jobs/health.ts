// Flags and help of health.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'health',
    about:
      'Says whether a process of this host is well, by its exit code: for containers. Without MILL_METRICS_PORT it asks the tables instead.',
    examples: [
      'npm run health                        the worker or scheduler at MILL_METRICS_PORT lives',
      'npm run health -- --ready             it has all that it needs to work',
      'npm run health -- --tables            the database answers, and has the tables of this release',
      'npm run health -- --url http://127.0.0.1:8787/healthz     the search service',
    ],
    define: (program) =>
      program
        .option('--ready', 'ask for readiness: database, queue and API within reach')
        .option('--tables', 'ask the tables, also where a process could be asked')
        .option('--url <address>', 'ask this address instead')
        .option('--json', 'one JSON object on stdout'),
  },
  async () => (await import('../src/features/admin/health.ts')).runHealth,
)
