import { printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { readConfig } from '../src/shared/config.ts'
import { count } from '../src/shared/terminal/wording.ts'
import { exits, Misuse } from '../src/shared/errors.ts'
import { runNumber } from '../src/shared/terminal/flags.ts'

await runCommand<{ readonly run?: number; readonly json?: true }>(
  {
    name: 'cancel',
    about: 'Ends a run: its open tasks are cancelled, its answers stay.',
    examples: ['npm run cancel -- --run 12'],
    define: (program) =>
      program
        .option('--run <n>', 'number of the run, as npm run status shows it', runNumber)
        .option('--json', 'print what was cancelled as JSON'),
  },
  async ({ options, env, closers }) => {
    const { run } = options
    if (run === undefined) {
      throw new Misuse(
        'expected --run with the number of a run, got nothing; npm run status shows them',
      )
    }
    const config = readConfig(env)
    const { openMill } = await import('../src/commands/mill/mill.ts')
    const { cancelRun } = await import('../src/store/operator/change.ts')
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
  },
)
