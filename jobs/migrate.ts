// Flags and help text for the `migrate` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'migrate',
  more: 'The command can safely be run repeatedly, and from several hosts at once.',
  examples: [
    'npm run migrate',
    'DATABASE_URL=postgres://user:password@host:5432/name npm run migrate',
    'npm run migrate -- --analyst ada',
  ],
  define: (program) =>
    program.option('--analyst <name>', 'create a read-only login, or renew its privileges'),
  load: async () => (await import('../src/features/admin/migrate.ts')).runMigrate,
})
