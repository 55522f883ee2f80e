// Flags and help of domains.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'domains',
    about:
      'Says which domains are ours and which are of rivals, and since when: the only command that changes that. It shows each line that it removes or adds, and keeps them all.',
    examples: [
      'npm run domains -- list',
      'npm run domains -- set example.com --label "Example"     from the beginning',
      'npm run domains -- set example.org --since 2026-11-01',
      'npm run domains -- set "*.example.net" --brand Example     all hosts below it as one, of the brand Example',
      'npm run domains -- set medium.com/example --brand Example   a folder, apart from the rest of its host',
      'npm run domains -- set other.com --brand Other --rival      a domain of a rival',
      'npm run domains -- end example.org --on 2026-11-30       its last day; today unless told',
      'npm run domains -- load ours.csv                         what the file does not name ends yesterday',
      'npm run domains -- undo                                  takes back the last change',
    ],
    define: (program) =>
      program
        .argument('[action]', 'list, load, set, end or undo', 'list')
        .argument('[subject]', 'a file to load (inputs/config/domains.csv), or a domain')
        .option('--label <text>', 'what we call the domain')
        .option(
          '--brand <name>',
          'the brand that it belongs to, with others; its label unless told',
        )
        .option('--rival', 'it is a domain of a rival, not ours')
        .option('--since <date>', 'first day on which it is ours')
        .option('--until <date>', 'last day on which it is ours')
        .option('--on <date>', 'the last day of a domain that ends')
        .option('--json', 'one JSON object on stdout'),
  },
  async () => (await import('../src/features/analysis/domains-command.ts')).keepDomains,
)
