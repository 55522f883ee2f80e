// Flags and help text of the `keys` command.

import { runCommand } from '../src/base/cli/command.ts'
import type { KeysOptions } from '../src/service/keys-command.ts'

await runCommand<KeysOptions>(
  {
    name: 'keys',
    about: 'Issues, lists and revokes keys of the search service, and shows their usage.',
    examples: [
      'npm run keys -- create --kind live --credits 1000',
      'npm run keys -- create --kind live --plan pro',
      'npm run keys -- revoke 3',
      'npm run keys -- usage --json',
    ],
    define: (program) =>
      program
        .argument('<action>', 'create, revoke, list or usage')
        .argument('[key]', 'for revoke: its number, or - to read the key from stdin')
        .option('--kind <kind>', 'live or test', 'test')
        .option('--credits <n>', 'number of prepaid credits')
        .option('--plan <name>', 'free, pro or unlimited: credits that come back each month')
        .option('--account <n>', 'add the key to this account')
        .option('--name <text>', 'what the key is for')
        .option('--rate <n>', 'maximum requests per second'),
  },
  async () => (await import('../src/service/keys-command.ts')).runKeys,
)
