// Flags and help text for the `keys` command.

import { runCommand } from '../src/base/cli/command.ts'
import type { KeysOptions } from '../src/service/keys-command.ts'

await runCommand<KeysOptions>({
  name: 'keys',
  examples: [
    'npm run keys -- create --kind live --credits 1000',
    'npm run keys -- create --kind live --plan pro',
    'npm run keys -- rotate 3 --grace 24h',
    'npm run keys -- revoke 3',
    'npm run keys -- top-up --account 2 --credits 500',
    'npm run keys -- plan --account 2 --plan pro',
    'npm run keys -- usage --json',
  ],
  define: (program) =>
    program
      .argument('<action>', 'create, rotate, revoke, list, usage, top-up or plan')
      .argument(
        '[key]',
        'number of the key to rotate or revoke, or - to read the key to revoke from stdin',
      )
      .option('--kind <kind>', 'live or test', 'test')
      .option('--grace <time>', 'for rotate: how long the old key stays valid (default: 24h)')
      .option('--credits <n>', 'number of credits to prepay or add')
      .option('--plan <name>', "free, pro or unlimited; the plan's credits renew each month")
      .option('--account <n>', 'add the key to this account, or change this account')
      .option('--name <text>', 'purpose of the key')
      .option('--rate <n>', 'maximum requests per second'),
  load: async () => (await import('../src/service/keys-command.ts')).runKeys,
})
