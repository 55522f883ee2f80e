// Flags and help of forget.

import { runCommand, addYes } from '../src/base/cli/command.ts'

await runCommand(
  {
    name: 'forget',
    about:
      'Deletes a list, a query or the texts of a domain, after a preview. The ledger keeps its sums.',
    examples: [
      'npm run forget -- --list keywords                   preview; changes nothing',
      'npm run forget -- --list keywords --yes             does it',
      'npm run forget -- --query "red shoes" --country us  the query with that text',
      'npm run forget -- --domain example.org              what answers say about it and its subdomains',
    ],
    define: (program) =>
      addYes(program)
        .option('--list <name>', 'the list, and the queries that no other list has')
        .option('--query <text>', 'every query with this text, in all lists')
        .option('--domain <host>', 'titles, snippets, addresses and everything else that names it')
        .option('--place <place>', 'only queries for this place')
        .option('--language <code>', 'only queries in this language')
        .option('--country <code>', 'only queries for this country')
        .option('--num <n>', 'only queries with this number of results')
        .option('--device <device>', 'only queries for desktop, mobile or tablet'),
  },
  async () => (await import('../src/features/forget/command.ts')).runForget,
)
