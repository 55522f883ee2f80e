// Flags and help text for the `domains` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'domains',
  more: 'Prints each line that it adds or removes, and records every change.',
  examples: [
    'npm run domains -- list',
    'npm run domains -- set example.com --label "Example"     from the beginning',
    'npm run domains -- set example.org --since 2026-11-01',
    'npm run domains -- set "*.example.net" --brand Example     all hosts below it as one domain, brand Example',
    'npm run domains -- set medium.com/example --brand Example   a folder, separate from the rest of its host',
    "npm run domains -- set other.com --brand Other --rival      a rival's domain",
    'npm run domains -- end example.org --on 2026-11-30       sets its last day (default: today)',
    'npm run domains -- load ours.csv                         domains missing from the file end yesterday',
    'npm run domains -- undo                                  undoes the last change',
  ],
  define: (program) =>
    program
      .argument('[action]', 'list, load, set, end or undo', 'list')
      .argument('[subject]', 'a file to load (inputs/config/domains.csv), or a domain')
      .option('--label <text>', 'display name of the domain')
      .option('--brand <name>', 'brand that groups several domains (default: its label)')
      .option('--rival', "a competitor's domain, not ours")
      .option('--since <date>', 'first day on which the domain is ours')
      .option('--until <date>', 'last day on which the domain is ours')
      .option('--on <date>', "with end: the domain's last day"),
  load: async () => (await import('../src/features/analysis/domains-command.ts')).keepDomains,
})
