// Flags and help of corpus.

import { type CorpusOptions, runCorpus } from '../src/service/corpus/command.ts'
import { shippedFile } from '../src/service/corpus/load.ts'
import { runCommand, say } from '../src/base/cli/command.ts'

await runCommand<CorpusOptions>(
  {
    name: 'corpus',
    about: 'Loads the documents that live keys search without a network.',
    examples: [
      'npm run corpus -- load',
      'npm run corpus -- add pages.jsonl',
      'npm run corpus -- build packages/*',
    ],
    define: (program) =>
      program
        .argument(
          '<action>',
          'load the shipped documents, add JSONL files, or build the shipped file',
        )
        .argument(
          '[files...]',
          'for add: lines of {"url", "title", "text"}; for build: unpacked packages',
        )
        .option('--out <file>', 'where build writes', shippedFile)
        .option('--json', 'one JSON object on stdout'),
  },
  async () => (call) =>
    runCorpus(call, async (home) => {
      const { ensurePostgres } = await import('../src/base/embedded/postgres.ts')
      return (await ensurePostgres(home, { say })).url
    }),
)
