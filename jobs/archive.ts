// Flags and help of archive.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'archive',
    about:
      'Moves the answers of old days into Parquet files, or brings them back. Each file is read back before a row is deleted. Ledger, queries and sums stay.',
    examples: [
      'npm run archive -- --older 400d --to /srv/archive --dry-run    what would leave',
      'npm run archive -- --older 400d --to /srv/archive',
      'npm run archive -- --older 400d --to s3://bucket/prefix        settings: docs/archive.md',
      'npm run archive -- --check                                     read every file of it',
      'npm run archive -- --back 2026-01-01..2026-01-31',
      'npm run sql -- --with-archive keyword --show history --q "running shoes"',
    ],
    define: (program) =>
      program
        .option('--older <age>', 'move days whose run date is longer ago than this, like 400d')
        .option(
          '--to <place>',
          'the folder of the archive, or its bucket as s3://bucket/prefix; with --back and --check only where it was moved since',
        )
        .option('--back <days>', 'bring back a day, or a span of days: FROM..TO')
        .option(
          '--check',
          'read all manifests and files, and compare them with the recorded checksums',
        )
        .option('--dry-run', 'show what would happen; change nothing')
        .option('--json', 'print what was done as one JSON object'),
  },
  async () => (await import('../src/features/archive/command.ts')).archive,
)
