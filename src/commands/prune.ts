import { readConfig } from '../shared/config.ts'
import { exits, Misuse, type Exit } from '../shared/errors.ts'
import { printJson, say, type Call } from '../shared/terminal/command.ts'
import { readDuration } from '../shared/time/duration.ts'
import { countBodies, pruneBodies } from '../store/operator/prune.ts'
import { openMill } from './mill/mill.ts'

export interface PruneOptions {
  readonly older?: string
  readonly dryRun?: true
  readonly json?: true
}

/** Removes raw bodies older than an age, or only counts them, and says how much that is. */
export async function prune({ options, env, closers }: Call<PruneOptions>): Promise<Exit> {
  const olderMs = readDuration(options.older ?? '')
  if (olderMs === null) {
    throw new Misuse(
      `expected --older with an age like 90d, got ${options.older ?? 'nothing'}; type: npm run prune -- --older 90d`,
    )
  }
  const config = readConfig(env)
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
}
