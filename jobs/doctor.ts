// Flags and help text for the `doctor` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'doctor',
    about:
      'Checks this machine, the settings and every server, suggests fixes, and spends nothing.',
    examples: ['npm run doctor', 'npm run -s doctor -- --json'],
  },
  async () => (await import('../src/features/admin/doctor.ts')).runDoctor,
)
