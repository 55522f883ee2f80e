import { printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { readConfig } from '../src/shared/config.ts'
import { readDuration } from '../src/shared/time/duration.ts'
import { exits, Misuse } from '../src/shared/errors.ts'

interface Options {
  readonly older?: string
  readonly dryRun?: true
  readonly json?: true
}

await runCommand<Options>(
  {
    name: 'prune',
    about: 'Removes old raw bodies. Rows, money and analyses stay as they are.',
    examples: [
      'npm run prune -- --older 90d --dry-run    how much there is to remove',
      'npm run prune -- --older 90d',
      'npm run -s prune -- --older 2w --json',
    ],
    define: (program) =>
      program
        .option('--older <age>', 'remove bodies received longer ago than this, like 90d, 2w or 12h')
        .option('--dry-run', 'count, and remove nothing')
        .option('--json', 'print what was removed as one JSON object'),
  },
  async ({ options, env, closers }) => {
    const olderMs = readDuration(options.older ?? '')
    if (olderMs === null) {
      throw new Misuse(
        `expected --older with an age like 90d, got ${options.older ?? 'nothing'}; type: npm run prune -- --older 90d`,
      )
    }
    const config = readConfig(env)
    const { openMill } = await import('../src/commands/mill/mill.ts')
    const { countBodies, pruneBodies } = await import('../src/store/operator/prune.ts')
    const { db } = await openMill({ config, closers, say, name: 'prune', connections: 1 })
    const dry = options.dryRun === true
    const { bodies, bytes, unread } = await (dry ? countBodies : pruneBodies)(db, olderMs)
    if (options.json === true) printJson({ bodies, bytes, unread, dry_run: dry })
    const size = `${(bytes / 1_000_000).toFixed(1)} MB`
    say(`${bodies} bodies (${size}) older than ${options.older} ${dry ? 'would go' : 'are gone'}`)
    if (unread > 0) {
      say(
        dry
          ? `${unread} of them are of answers that were not read yet; npm run reparse tries again`
          : `${unread} of them were of answers that could not be read, and never will be now`,
      )
    }
    return exits.done
  },
)
