import { readConfig } from '../shared/config.ts'
import { exits, type Exit } from '../shared/errors.ts'
import { printJson, say, type Call } from '../shared/terminal/command.ts'
import { openMill } from './mill/mill.ts'
import { rebuild } from './mill/rebuild.ts'

/** What can be typed after `npm run rebuild --`. */
export interface RebuildFlags {
  readonly json?: true
}

/** Makes the queue again from the tables, and says how many jobs that took. */
export async function runRebuild({ options, env, closers }: Call<RebuildFlags>): Promise<Exit> {
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'rebuild' })
  const jobs = await rebuild(mill)
  if (options.json === true) printJson({ jobs })
  say(`${jobs} slices with open tasks have a job in the queue`)
  return exits.done
}
