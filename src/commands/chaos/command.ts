import { exits, Misuse, type Exit } from '../../shared/errors.ts'
import { print, printJson, say, type Call } from '../../shared/terminal/command.ts'
import { countFlag } from '../../shared/terminal/flags.ts'
import { runChaos } from './chaos.ts'
import { tellJudgement } from './tell.ts'

/** What can be typed after `npm run chaos --`. */
export interface ChaosFlags {
  readonly seconds: string
  readonly minutes?: string
  readonly backend: string
  readonly workers: string
  readonly lanes: string
  readonly seed?: string
  readonly keep?: true
  readonly replays?: true
  readonly json?: true
}

/** Makes faults for as long as the flags say, and prints what the books of the API and the tables make of it. */
export async function runStorm({ options, env, closers }: Call<ChaosFlags>): Promise<Exit> {
  const { backend } = options
  if (backend !== 'postgres' && backend !== 'redis') {
    throw new Misuse(`expected --backend to be postgres or redis, got ${backend}`)
  }
  const seed = options.seed ?? String(Date.now())
  const keep = options.keep === true
  const replays = options.replays === true
  const seconds =
    options.minutes === undefined
      ? countFlag('seconds', options.seconds)
      : 60 * countFlag('minutes', options.minutes)
  const workers = countFlag('workers', options.workers)
  const lanes = countFlag('lanes', options.lanes)
  say(`chaos on ${backend} for ${seconds} s with ${workers} workers; seed ${seed}`)
  const wish = { seconds, workers, lanes, backend, seed, keep, replays } as const
  const chaos = await runChaos({ ...wish, env, closers, say })
  const { judgement, verified } = chaos
  const { violations } = judgement
  if (options.json === true) printJson({ backend, seed, ...chaos })
  else for (const line of tellJudgement(judgement, chaos)) print(line)
  for (const violation of violations) say(`BROKEN ${violation}`)
  say(verified ? 'verify finds every promise kept' : 'verify finds a promise broken')
  return verified && violations.length === 0 ? exits.done : exits.failures
}
