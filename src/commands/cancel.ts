import { readConfig } from '../shared/config.ts'
import { exits, Misuse, type Exit } from '../shared/errors.ts'
import { printJson, say, type Call } from '../shared/terminal/command.ts'
import { count } from '../shared/terminal/wording.ts'
import { cancelRun } from '../store/operator/change.ts'
import { openMill } from './mill/mill.ts'

/** What can be typed after `npm run cancel --`. */
export interface CancelFlags {
  readonly run?: number
  readonly json?: true
}

/** Ends a run: its open tasks are cancelled, its answers stay. */
export async function runCancel({ options, env, closers }: Call<CancelFlags>): Promise<Exit> {
  const { run } = options
  if (run === undefined) {
    throw new Misuse(
      'expected --run with the number of a run, got nothing; npm run status shows them',
    )
  }
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'cancel' })
  const ended = await cancelRun(mill.db, run)
  if (ended === null) {
    throw new Misuse(
      `expected run ${run} to be open, got none or one that ended; see npm run status`,
    )
  }
  if (options.json === true) printJson({ run, cancelled: ended.cancelled })
  say(
    `run ${run} is cancelled: ${count(ended.cancelled, 'open task')}; calls in flight are still kept`,
  )
  return exits.done
}
