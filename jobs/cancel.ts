import { printJson, runCommand, say } from '../src/command.ts'
import { readConfig } from '../src/config.ts'
import { exits, Misuse } from '../src/errors.ts'

await runCommand<{ readonly run?: string; readonly json?: true }>(
  {
    name: 'cancel',
    about: 'Ends a run: its open tasks are cancelled, its answers stay.',
    examples: ['npm run cancel -- --run 12'],
    define: (program) =>
      program
        .option('--run <n>', 'number of the run, as npm run status shows it')
        .option('--json', 'print what was cancelled as JSON'),
  },
  async ({ options, env, closers }) => {
    const run = Number(options.run)
    if (!Number.isSafeInteger(run) || run < 1) {
      throw new Misuse(
        `expected --run with the number of a run, got ${options.run ?? 'nothing'}; npm run status shows the numbers`,
      )
    }
    const config = readConfig(env)
    const { openMill } = await import('../src/mill.ts')
    const { cancelRun } = await import('../src/store/change.ts')
    const mill = await openMill({ config, closers, say, name: 'cancel' })
    const ended = await cancelRun(mill.db, run)
    if (ended === null) {
      throw new Misuse(
        `expected run ${run} to be open, got none or one that ended; see npm run status`,
      )
    }
    if (options.json === true) printJson({ run, cancelled: ended.cancelled })
    say(`run ${run} is cancelled: ${ended.cancelled} open tasks; calls in flight are still kept`)
    return exits.done
  },
)
