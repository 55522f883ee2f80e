// Flags and help of forget.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'forget',
    about:
      'Forgets a list, a query or the texts of a domain, and says first what would go. The ledger keeps its sums.',
    examples: [
      'npm run forget -- --list keywords                   what would go; nothing is changed',
      'npm run forget -- --list keywords --yes             does it',
      'npm run forget -- --query "red shoes" --country us  one query of that text',
      'npm run forget -- --domain example.org              what answers say of it and of all hosts below it',
    ],
    define: (program) =>
      program
        .option('--list <name>', 'the list, and the queries that no other list holds')
        .option('--query <text>', 'every query with this text, in all lists')
        .option('--domain <host>', 'titles, snippets, addresses and whatever else names it')
        .option('--place <place>', 'of the queries with the text only those for this place')
        .option('--language <code>', 'only those in this language')
        .option('--country <code>', 'only those for this country')
        .option('--num <n>', 'only those that ask for so many results')
        .option('--device <device>', 'only those for desktop, mobile or tablet')
        .option('--yes', 'do it')
        .option('--json', 'print what goes as one JSON object'),
  },
  async () => (await import('../src/features/forget/command.ts')).runForget,
)
