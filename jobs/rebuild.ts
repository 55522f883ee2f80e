import type { RebuildFlags } from '../src/commands/rebuild.ts'
import { runCommand } from '../src/shared/terminal/command.ts'

await runCommand<RebuildFlags>(
  {
    name: 'rebuild',
    about: 'Makes the queue again from the tables: one job for each slice with an open task.',
    examples: ['npm run rebuild', 'npm run -s rebuild -- --json'],
    define: (program) => program.option('--json', 'print the number of jobs as JSON'),
  },
  async (call) => (await import('../src/commands/rebuild.ts')).runRebuild(call),
)
