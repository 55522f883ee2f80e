// Flags and help of doctor.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'doctor',
    about:
      'Checks this machine, the settings and every server, spends nothing, and says what to do.',
    examples: ['npm run doctor', 'npm run -s doctor -- --json'],
    define: (program) => program.option('--json', 'print one JSON object'),
  },
  async () => (await import('../src/features/admin/doctor.ts')).runDoctor,
)
