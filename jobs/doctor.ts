// Flags and help text for the `doctor` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'doctor',
  more: 'No credits are spent.',
  examples: ['npm run doctor', 'npm run -s doctor -- --json'],
  load: async () => (await import('../src/features/admin/doctor.ts')).runDoctor,
})
