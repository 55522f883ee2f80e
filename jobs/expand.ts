// Flags and help of expand.

import { runCommand } from '../src/base/cli/command.ts'
import { collect } from '../src/base/cli/flags.ts'

await runCommand(
  {
    name: 'expand',
    about:
      'Takes the most promising related searches of a list into a list of their own, to be bought by the workers, within credits.',
    examples: [
      'npm run expand -- --list keywords --credits 200 --dry-run',
      'npm run expand -- --list keywords --credits 200 --depth 2',
      'npm run expand -- --list keywords --credits 50 --match css --match "web api" --not "/^how /"',
      'npm run -s expand -- --list keywords --credits 200 --json',
    ],
    define: (program) =>
      program
        .option('--list <name>', 'the list whose answers name what is taken')
        .option('--credits <credits>', 'most that all rounds may use together')
        .option('--as <name>', 'name of the list that takes (default: that of the list, -expanded)')
        .option('--depth <rounds>', 'rounds: 2 goes on from what the first one bought (default: 1)')
        .option('--match <what>', 'only with these words, or a /regex/; may be repeated', collect)
        .option('--not <what>', 'none with these words, or a /regex/; may be repeated', collect)
        .option('--dry-run', 'show what would be taken and what it costs, and do nothing')
        .option('--yes', 'buy without asking')
        .option('--json', 'one JSON object on stdout'),
  },
  async () => (await import('../src/features/expand/command.ts')).runExpand,
)
