import { printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { readConfig } from '../src/shared/config.ts'
import { count } from '../src/shared/terminal/wording.ts'
import { exits } from '../src/shared/errors.ts'
import { runNumber } from '../src/shared/terminal/flags.ts'

interface Options {
  readonly all?: true
  readonly run?: number
  readonly json?: true
}

await runCommand<Options>(
  {
    name: 'reparse',
    about: 'Reads kept bodies again, without a call: those that could not be read, or all.',
    examples: [
      'npm run reparse                 answers that could not be read',
      'npm run reparse -- --run 12     only those of one run',
      'npm run reparse -- --all        every answer whose body is kept',
    ],
    define: (program) =>
      program
        .option('--all', 'read every kept body again, and make its rows anew')
        .option('--run <n>', 'only answers of this run', runNumber)
        .option('--json', 'print what was read as one JSON object'),
  },
  async ({ options, env, closers }) => {
    const run = options.run ?? null
    const config = readConfig(env)
    const { openMill } = await import('../src/commands/mill/mill.ts')
    const { reparse } = await import('../src/commands/reparse.ts')
    const { expectRun } = await import('../src/store/operator/known.ts')
    const { db } = await openMill({ config, closers, say, name: 'reparse', connections: 2 })
    if (run !== null) await expectRun(db, run)
    const found = await reparse(db, { all: options.all === true, run })
    if (options.json === true) printJson(found)
    say(`${count(found.read, 'answer')} read, ${found.unread} cannot be read and stay as they were`)
    if (found.bodiless > 0) say(`of ${count(found.bodiless, 'answer')} the body was pruned`)
    return found.unread > 0 ? exits.failures : exits.done
  },
)
