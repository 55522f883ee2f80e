import { type Call, print, printJson, say } from '../../src/base/cli/command.ts'
import { countFlag } from '../../src/base/cli/flags.ts'
import { type Exit, exits, Misuse } from '../../src/base/errors.ts'
import { runChaos } from './chaos.ts'
import type { Judgement } from './judge.ts'
import type { Strike, Strikes } from './strikes.ts'

/** Flags of `npm run chaos --`. */
export interface ChaosFlags {
  readonly seconds: string
  readonly minutes?: string
  readonly backend: string
  readonly workers: string
  readonly lanes: string
  readonly seed?: string
  readonly keep?: true
  readonly replays?: true
  readonly lies?: true
  readonly json?: true
}

/** Injects faults for as long as the flags specify, and prints the comparison of the API's records with the tables. */
export async function runStorm({ options, env, closers, signal }: Call<ChaosFlags>): Promise<Exit> {
  const { backend } = options
  if (backend !== 'postgres' && backend !== 'redis') {
    throw new Misuse(`expected --backend to be postgres or redis, got ${backend}`)
  }
  const seed = options.seed ?? String(Date.now())
  const keep = options.keep === true
  const replays = options.replays === true
  const lying = options.lies === true
  const seconds =
    options.minutes === undefined
      ? countFlag('seconds', options.seconds)
      : 60 * countFlag('minutes', options.minutes)
  const workers = countFlag('workers', options.workers)
  const lanes = countFlag('lanes', options.lanes)
  say(`chaos on ${backend} for ${seconds} s with ${workers} workers; seed ${seed}`)
  const wish = { seconds, workers, lanes, backend, seed, keep, replays, lying } as const
  const chaos = await runChaos({ ...wish, env, closers, say, signal })
  const { judgement, verified } = chaos
  const { violations } = judgement
  if (options.json === true) printJson({ backend, seed, ...chaos })
  else for (const line of tellJudgement(judgement, chaos)) print(line)
  for (const violation of violations) say(`BROKEN ${violation}`)
  say(verified ? 'verify finds every promise kept' : 'verify finds a promise broken')
  return verified && violations.length === 0 ? exits.done : exits.failures
}

const words: Readonly<Record<Strike, string>> = {
  kills: 'kills',
  freezes: 'freezes',
  farewells: 'farewells',
  delays: 'slow wires',
  silences: 'silent wires',
  cuts: 'cut wires',
  strandings: 'wires that lead nowhere',
  clockSteps: 'clock steps',
  renewals: 'renewals',
  databaseRestarts: 'database restarts',
  restores: 'restored databases',
  fullDisks: 'full disks',
  redisRestarts: 'redis restarts',
  flushes: 'flushes',
  foreignSpends: 'spends of others',
  keyChanges: 'changes of a key',
}

/**
 * Formats the faults, those that could not be caused, and their effects as lines, with the most important line last.
 */
function tellJudgement(
  judgement: Judgement,
  { strikes, notDone }: { strikes: Strikes; notDone: readonly string[] },
): string[] {
  const { states, charges, creditsCharged, creditsUsed, creditsHeld, least } = judgement
  const counts = Object.entries(states).map(([state, count]) => `${count} ${state}`)
  const done = (Object.keys(words) as Strike[]).map((name) => `${strikes[name]} ${words[name]}`)
  return [
    `strikes          ${done.join(', ')}`,
    ...notDone.map((sentence) => `not done         ${sentence}`),
    `tasks            ${judgement.tasks}: ${counts.join(', ')}`,
    `calls            ${judgement.calls}, ${judgement.unsent} of them released unsent`,
    `ledger           ${creditsUsed} credits used, ${creditsHeld} held for calls with an unknown outcome`,
    `tasks answered   ${states['answered'] ?? 0}`,
    `charges          ${charges}, ${creditsCharged} credits, by the books of the API`,
    `ambiguous        ${judgement.ambiguous}`,
    `forgotten        ${judgement.forgotten} charges, when the database was set back`,
    `others spent     ${judgement.foreign} credits, and ${judgement.lied} credits were charged without a word`,
    `minimum balance  ${least.join(' and ')}, floor ${judgement.floor}`,
    `longest stand    ${judgement.stoodMs} ms, ${judgement.longestStandMs} allowed`,
    `wrong answers    ${judgement.wrong}`,
    `lost             ${judgement.lost}`,
    `bought twice beyond ambiguous  ${judgement.boughtTwice}`,
  ]
}
