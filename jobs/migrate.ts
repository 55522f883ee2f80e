// Flags and help of migrate.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'migrate',
    about:
      'Prepares the database: our tables, the views of analysts, the tables of the queue. Safe to repeat, and from several hosts at once.',
    examples: [
      'npm run migrate',
      'DATABASE_URL=postgres://user:password@host:5432/name npm run migrate',
      'npm run migrate -- --analyst ada',
    ],
    define: (program) =>
      program
        .option('--analyst <name>', 'make a login that may only read, or renew its rights')
        .option('--json', 'one JSON object on stdout'),
  },
  async () => (await import('../src/features/admin/migrate.ts')).runMigrate,
)
