import { readConfig } from '../shared/config.ts'
import { exits, Misuse, type Exit } from '../shared/errors.ts'
import { printJson, say, type Call } from '../shared/terminal/command.ts'
import { count } from '../shared/terminal/wording.ts'
import type { Database } from '../store/database.ts'
import { cancelRun, openRunsOf } from '../store/operator/change.ts'
import { expectList } from '../store/operator/known.ts'
import { openMill } from './mill/mill.ts'

/** What can be typed after `npm run cancel --`. */
export interface CancelFlags {
  readonly run?: number
  readonly list?: string
  readonly json?: true
}

/** Ends a run, or the open runs of a list: their open tasks are cancelled, their answers stay. */
export async function runCancel({ options, env, closers }: Call<CancelFlags>): Promise<Exit> {
  const { run, list, json } = options
  if ((run === undefined) === (list === undefined)) {
    throw new Misuse(
      `expected --run with the number of a run or --list with the name of a list, got ${run === undefined ? 'nothing' : 'both'}; npm run status shows them`,
    )
  }
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'cancel' })
  const runs = list === undefined ? [run ?? 0] : await runsOf(mill.db, list)
  const ended: { run: number; cancelled: number }[] = []
  for (const one of runs) ended.push(await cancel(mill.db, one))
  if (json === true) printJson(list === undefined ? ended[0] : { list, runs: ended })
  return exits.done
}

async function runsOf(db: Database, list: string): Promise<readonly number[]> {
  await expectList(db, list)
  const runs = await openRunsOf(db, list)
  if (runs.length > 0) return runs
  throw new Misuse(`expected list ${list} to have an open run, got none; see npm run status`)
}

async function cancel(db: Database, run: number): Promise<{ run: number; cancelled: number }> {
  const ended = await cancelRun(db, run)
  if (ended === null) {
    throw new Misuse(
      `expected run ${run} to be open, got none or one that ended; see npm run status`,
    )
  }
  say(
    `run ${run} is cancelled: ${count(ended.cancelled, 'open task')}; calls in flight are still kept`,
  )
  return { run, cancelled: ended.cancelled }
}
