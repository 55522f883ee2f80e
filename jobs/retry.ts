import { printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { readConfig } from '../src/shared/config.ts'
import { count } from '../src/shared/terminal/wording.ts'
import { exits, Misuse } from '../src/shared/errors.ts'
import type { Mill } from '../src/commands/mill/mill.ts'
import { runNumber } from '../src/shared/terminal/flags.ts'

interface Options {
  readonly run?: number
  readonly list?: string
  readonly state?: string
  readonly error?: string
  readonly buyAgain?: true
  readonly dryRun?: true
  readonly json?: true
}

const nothingFound = 'no such task was found in a run that may be opened: nothing is changed'
const reopenable = ['failed', 'unknown', 'unaffordable']

await runCommand<Options>(
  {
    name: 'retry',
    about:
      'Opens tasks again that failed, are unknown or could not be afforded; never one that has an answer.',
    examples: [
      'npm run retry -- --run 12                    failed and unknown tasks of run 12',
      'npm run retry -- --list keywords --state failed',
      'npm run retry -- --error TIMEOUT',
      'npm run retry -- --run 12 --buy-again        buys answered tasks a second time',
    ],
    define: (program) =>
      program
        .option('--run <n>', 'only this run', runNumber)
        .option('--list <name>', 'only runs of this list')
        .option('--state <states>', `one or more of ${reopenable.join(', ')}`, 'failed,unknown')
        .option('--error <code>', 'only tasks that ended with this error')
        .option('--buy-again', 'also tasks that have an answer: each is paid for a second time')
        .option('--dry-run', 'say how many, change nothing')
        .option('--json', 'print the numbers as JSON'),
  },
  async ({ options, env, closers }) => {
    const buyAgain = options.buyAgain === true
    const selection = {
      run: options.run ?? null,
      list: options.list ?? null,
      states: [...readStates(options.state ?? ''), ...(buyAgain ? ['answered', 'reused'] : [])],
      error: options.error ?? null,
      buyAgain,
    }
    if (buyAgain && selection.run === null && selection.list === null) {
      throw new Misuse('expected --run or --list beside --buy-again, got neither; it costs money')
    }
    const config = readConfig(env)
    const { openMill } = await import('../src/commands/mill/mill.ts')
    const { chooseRuns, reopenTasks } = await import('../src/store/operator/reopen.ts')
    const { expectList, expectRun } = await import('../src/store/operator/known.ts')
    const mill = await openMill({ config, closers, say, name: 'retry' })
    if (selection.run !== null) await expectRun(mill.db, selection.run)
    if (selection.list !== null) await expectList(mill.db, selection.list)
    const { runs, left, tasks } = await chooseRuns(mill.db, selection)
    for (const { run, instead } of left) say(leftLine(run, instead))
    if (buyAgain) say(await costLine(mill, tasks))
    if (options.dryRun === true) {
      if (options.json === true) printJson({ tasks, reopened: 0 })
      say(`${count(tasks, 'task')} would be opened again`)
      return exits.done
    }
    const reopened = await reopenTasks(mill.db, selection, runs)
    const { rebuild } = await import('../src/commands/mill/rebuild.ts')
    for (const run of runs) await rebuild(mill, run)
    if (options.json === true) printJson({ tasks, reopened })
    say(
      reopened === 0
        ? nothingFound
        : `${count(reopened, 'task')} open again; type: npm run work -- --drain`,
    )
    return exits.done
  },
)

function leftLine(run: number, instead: number): string {
  return `run ${run} stays closed: a list has one open run at a time, and that is run ${instead}; when it has ended, type: npm run retry -- --run ${run}`
}

function readStates(text: string): string[] {
  const states = text.split(',').map((state) => state.trim())
  const wrong = states.filter((state) => !reopenable.includes(state))
  if (wrong.length === 0) return states
  throw new Misuse(`expected --state to be of ${reopenable.join(', ')}, got ${wrong.join(', ')}`)
}

async function costLine(mill: Mill, tasks: number): Promise<string> {
  const { dearestSeen } = await import('../src/store/operator/status.ts')
  const dearest = await dearestSeen(mill.db, mill.supplier.account)
  const cost = dearest === null ? 'an unknown number of' : `at most ${dearest * tasks}`
  return `${count(tasks, 'task')} to be bought again for ${cost} credits`
}
