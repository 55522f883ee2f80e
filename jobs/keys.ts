// Flags and help of keys.

import { print, printJson, runCommand, say } from '../src/base/cli/command.ts'
import { readConfig } from '../src/base/config.ts'
import { exits } from '../src/base/errors.ts'
import { runKeys, withoutDash, type KeysOptions } from '../src/service/keys-command.ts'
import { openKeys } from '../src/service/start.ts'

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
        .argument(
          '[key]',
          'for revoke: its number, …abcd (how it ends), or - to read it from stdin',
        )
        .option('--kind <kind>', 'live or test', 'test')
        .option('--credits <n>', 'number of prepaid credits')
        .option('--plan <name>', 'free, pro or unlimited: credits that come back each month')
        .option('--account <n>', 'add the key to this account')
        .option('--name <text>', 'what the key is for')
        .option('--rate <n>', 'maximum requests per second'),
  },
  async () =>
    async ({ options, args, env, closers }) => {
      const { databaseUrl, home } = readConfig(env)
      const { ensurePostgres } = await import('../src/base/embedded/postgres.ts')
      const url = databaseUrl ?? (await ensurePostgres(home, { say })).url
      const keys = closers.add('keys', await openKeys(url), (open) => open.close())
      const shown = await runKeys(keys, await withoutDash(args), options)
      if (options.json === true) printJson(shown.json)
      else shown.lines.forEach(print)
      if (shown.hint !== null) say(shown.hint)
      return exits.done
    },
)
