// Flags and help text for the `corpus` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'corpus',
  examples: ['npm run corpus -- load', 'npm run corpus -- add pages.jsonl'],
  define: (program) =>
    program
      .argument('<action>', 'load the shipped documents, or add JSONL files')
      .argument('[files...]', 'JSONL files to add, with {"url", "title", "text"} on each line'),
  load: async () => (await import('../src/service/corpus/command.ts')).runCorpus,
})
