// Flags and help text for the `doctor` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'doctor',
    about:
      'Checks this machine, the settings and every server, and suggests fixes. No credits are spent.',
    examples: ['npm run doctor', 'npm run -s doctor -- --json'],
  },
  async () => (await import('../src/features/admin/doctor.ts')).runDoctor,
)
