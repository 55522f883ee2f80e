import { print, printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { exits, Misuse } from '../src/shared/errors.ts'

interface Options {
  readonly seconds: string
  readonly backend: string
  readonly workers: string
  readonly lanes: string
  readonly seed?: string
  readonly keep?: true
  readonly json?: true
}

await runCommand<Options>(
  {
    name: 'chaos',
    about:
      'Kills, freezes and restarts everything on purpose, then holds the books of the API against the tables.',
    examples: [
      'npm run chaos -- --seconds 60',
      'npm run chaos -- --seconds 120 --backend redis',
      'npm run chaos -- --seconds 60 --seed storm   the same misfortunes in the same order',
    ],
    drains: true,
    define: (program) =>
      program
        .option('--seconds <n>', 'how long faults are made', '60')
        .option('--backend <name>', 'postgres or redis', 'postgres')
        .option('--workers <n>', 'worker processes', '4')
        .option('--lanes <n>', 'paid calls in flight for each of them', '8')
        .option('--seed <text>', 'what the misfortunes are drawn from')
        .option('--keep', 'leave the folder with everything that was said')
        .option('--json', 'print the figures as one JSON object'),
  },
  async ({ options, env, closers }) => {
    const { backend } = options
    if (backend !== 'postgres' && backend !== 'redis') {
      throw new Misuse(`expected --backend to be postgres or redis, got ${backend}`)
    }
    const seed = options.seed ?? String(Date.now())
    const { runChaos } = await import('../src/commands/chaos/chaos.ts')
    const { tellJudgement } = await import('../src/commands/chaos/judge.ts')
    const seconds = wholeFlag('seconds', options.seconds)
    const workers = wholeFlag('workers', options.workers)
    const lanes = wholeFlag('lanes', options.lanes)
    say(`chaos on ${backend} for ${seconds} s with ${workers} workers; seed ${seed}`)
    const keep = options.keep === true
    const chaos = await runChaos({
      seconds,
      workers,
      lanes,
      backend,
      seed,
      keep,
      env,
      closers,
      say,
    })
    const { judgement, strikes, verified } = chaos
    const { violations } = judgement
    if (options.json === true) printJson({ backend, seed, ...chaos })
    else for (const line of tellJudgement(judgement, strikes)) print(line)
    for (const violation of violations) say(`BROKEN ${violation}`)
    say(verified ? 'verify finds every promise kept' : 'verify finds a promise broken')
    return verified && violations.length === 0 ? exits.done : exits.failures
  },
)

function wholeFlag(name: string, text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value > 0) return value
  throw new Misuse(`expected --${name} to be a whole number from 1 up, got ${text}`)
}
