// Flags and help text for the `domains` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'domains',
  more: 'Prints each added or removed line, and records every change.',
  examples: [
    'npm run domains -- list',
    'npm run domains -- set example.com --label "Example"     marks example.com as ours, without a start date',
    'npm run domains -- set example.org --since 2026-11-01',
    'npm run domains -- set "*.example.net" --brand Example     all subdomains of example.net, as one domain of the brand Example',
    'npm run domains -- set medium.com/example --brand Example   a folder, separate from the rest of its host',
    "npm run domains -- set other.com --brand Other --rival      a rival's domain",
    "npm run domains -- end example.org --on 2026-11-30       sets the domain's last day (default: today)",
    'npm run domains -- load ours.csv                         sets the last day of domains that are not in the file to yesterday',
    'npm run domains -- undo                                  undoes the last change',
  ],
  define: (program) =>
    program
      .argument('[action]', 'list, load, set, end or undo', 'list')
      .argument('[subject]', 'a file to load (inputs/config/domains.csv), or a domain')
      .option('--label <text>', 'display name of the domain')
      .option('--brand <name>', "brand that groups several domains (default: the domain's label)")
      .option('--rival', "a competitor's domain, not ours")
      .option('--since <date>', 'first day on which the domain is ours')
      .option('--until <date>', 'last day on which the domain is ours')
      .option('--on <date>', "with end: the domain's last day"),
  load: async () => (await import('../src/features/analysis/domains-command.ts')).keepDomains,
})
