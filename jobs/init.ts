// Flags and help text for the `init` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'init',
  more: 'Existing files are not overwritten.',
  examples: ['npm run init'],
  load: async () => (await import('../src/features/admin/init.ts')).runInit,
})
