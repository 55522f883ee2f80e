// Flags and help text for the `prune` command.

import { runCommand, addYes } from '../src/base/cli/command.ts'

await runCommand({
  name: 'prune',
  more: 'The parsed rows, the ledger and the analyses are kept.',
  examples: [
    'npm run prune -- --older 90d                preview; changes nothing',
    'npm run prune -- --older 90d --yes          deletes the bodies',
    'npm run -s prune -- --older 2w --yes --json',
  ],
  define: (program) =>
    addYes(program).option(
      '--older <age>',
      'delete bodies received longer ago than this, like 90d, 2w or 12h',
    ),
  load: async () => (await import('../src/features/forget/prune.ts')).prune,
})
