// Flags and help text for the `init` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'init',
    about:
      'Creates .env, a first list, schedules and .gitignore in this folder. Existing files are not overwritten.',
    examples: ['npm run init'],
  },
  async () => (await import('../src/features/admin/init.ts')).runInit,
)
