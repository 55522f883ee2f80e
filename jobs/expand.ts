// Flags and help text for the `expand` command.

import { runCommand, addYes } from '../src/base/cli/command.ts'
import { collect } from '../src/base/cli/flags.ts'

await runCommand({
  name: 'expand',
  more: 'They are added to a new list, which workers buy within a budget.',
  examples: [
    'npm run expand -- --list keywords --credits 200          preview; buys nothing',
    'npm run expand -- --list keywords --credits 200 --yes    buys the searches',
    'npm run expand -- --list keywords --credits 200 --depth 2 --yes',
    'npm run expand -- --list keywords --credits 50 --match css --match "web api" --not "/^how /"',
    'npm run -s expand -- --list keywords --credits 200 --yes --json',
  ],
  define: (program) =>
    addYes(program)
      .option('--list <name>', 'source list for the related searches')
      .option('--credits <credits>', 'maximum credits for all rounds together')
      .option('--as <name>', 'name of the new list (default: LIST-expanded)')
      .option('--depth <rounds>', 'rounds: round 2 uses the answers of round 1 (default: 1)')
      .option(
        '--match <what>',
        'only searches that contain these words or match a /regex/; may be repeated',
        collect,
      )
      .option(
        '--not <what>',
        'leave out searches that contain these words or match a /regex/; may be repeated',
        collect,
      ),
  load: async () => (await import('../src/features/expand/command.ts')).runExpand,
})
