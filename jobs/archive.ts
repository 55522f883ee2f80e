// Flags and help text for the `archive` command.

import { runCommand, addYes } from '../src/base/cli/command.ts'

await runCommand({
  name: 'archive',
  more: 'Each file is read back before any row is deleted. The ledger, the queries and the sums stay in the database.',
  examples: [
    'npm run archive -- --older 400d --to /srv/archive        previews the days; changes nothing',
    'npm run archive -- --older 400d --to /srv/archive --yes  archives the days',
    'npm run archive -- --check                               verifies every file',
    'npm run archive -- --back 2026-01-01..2026-01-31 --yes',
    'npm run sql -- --with-archive keyword --show history --q "running shoes"',
  ],
  define: (program) =>
    addYes(program)
      .option('--older <age>', 'archive days whose run date is older than this, such as 400d')
      .option(
        '--to <folder>',
        'archive folder; required with --back and --check only if the archive was moved',
      )
      .option('--back <days>', 'restore a day, or a range of days: FROM..TO')
      .option(
        '--check',
        'read all manifests and files and compare them with the recorded checksums',
      ),
  load: async () => (await import('../src/features/archive/command.ts')).archive,
})
