// Flags and help text for the `forget` command.

import { runCommand, addYes } from '../src/base/cli/command.ts'

await runCommand({
  name: 'forget',
  examples: [
    'npm run forget -- --list keywords      preview; changes nothing',
    'npm run forget -- --list keywords --yes  deletes the list',
    'npm run forget -- --query "red shoes"  every query with that text',
  ],
  define: (program) =>
    addYes(program)
      .option('--list <name>', 'the list, and its queries that are in no other list')
      .option('--query <text>', 'every query with this text, in all lists'),
  load: async () => (await import('../src/features/forget/command.ts')).runForget,
})
