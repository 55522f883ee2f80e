import { printJson, runCommand, say } from '../src/command.ts'
import { readConfig } from '../src/config.ts'
import { exits, Misuse } from '../src/errors.ts'

interface Options {
  readonly all?: true
  readonly run?: string
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
        .option('--run <n>', 'only answers of this run')
        .option('--json', 'print what was read as one JSON object'),
  },
  async ({ options, env, closers }) => {
    const run = options.run === undefined ? null : Number(options.run)
    if (run !== null && (!Number.isSafeInteger(run) || run < 1)) {
      throw new Misuse(
        `expected --run with the number of a run, got ${options.run}; npm run status shows the numbers`,
      )
    }
    const config = readConfig(env)
    const { openMill } = await import('../src/mill.ts')
    const { reparse } = await import('../src/reparse.ts')
    const { expectRun } = await import('../src/store/known.ts')
    const { db } = await openMill({ config, closers, say, name: 'reparse', connections: 2 })
    if (run !== null) await expectRun(db, run)
    const found = await reparse(db, { all: options.all === true, run })
    if (options.json === true) printJson(found)
    say(`${found.read} answers read, ${found.unread} cannot be read and stay as they were`)
    if (found.bodiless > 0) say(`${found.bodiless} answers have no body any more: it was pruned`)
    return found.unread > 0 ? exits.failures : exits.done
  },
)
