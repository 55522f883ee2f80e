import { readConfig } from '../shared/config.ts'
import { exits, Misuse, type Exit } from '../shared/errors.ts'
import { printJson, say, type Call } from '../shared/terminal/command.ts'
import { count } from '../shared/terminal/wording.ts'
import { expectList, expectRun } from '../store/operator/known.ts'
import { chooseRuns, countRefused, reopenTasks, type Selection } from '../store/operator/reopen.ts'
import { dearestSeen } from '../store/operator/status.ts'
import { openMill, type Mill } from './mill/mill.ts'
import { rebuild } from './mill/rebuild.ts'

/** What can be typed after `npm run retry --`. */
export interface RetryFlags {
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

/** Opens tasks again and makes their jobs, or only says how many there are. */
export async function runRetry({ options, env, closers }: Call<RetryFlags>): Promise<Exit> {
  const selection = selectionOf(options)
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'retry' })
  if (selection.run !== null) await expectRun(mill.db, selection.run)
  if (selection.list !== null) await expectList(mill.db, selection.list)
  const { runs, left, tasks } = await chooseRuns(mill.db, selection)
  for (const { run, instead } of left) say(leftLine(run, instead))
  if (selection.buyAgain) say(await costLine(mill, tasks))
  const refused = await countRefused(mill.db, selection)
  if (refused > 0) say(refusedLine(refused))
  if (options.dryRun === true) {
    if (options.json === true) printJson({ tasks, reopened: 0 })
    say(`${count(tasks, 'task')} would be opened again`)
    return exits.done
  }
  const reopened = await reopenTasks(mill.db, selection, runs)
  for (const run of runs) await rebuild(mill, run)
  if (options.json === true) printJson({ tasks, reopened })
  say(
    reopened === 0
      ? nothingFound
      : `${count(reopened, 'task')} open again; type: npm run work -- --drain`,
  )
  return exits.done
}

function selectionOf(options: RetryFlags): Selection {
  const buyAgain = options.buyAgain === true
  const states = readStates(options.state ?? '')
  const { run = null, list = null, error = null } = options
  if (buyAgain && run === null && list === null) {
    throw new Misuse('expected --run or --list beside --buy-again, got neither; it costs money')
  }
  return {
    run,
    list,
    states: buyAgain ? [...states, 'answered', 'reused'] : states,
    error,
    buyAgain,
  }
}

function readStates(text: string): string[] {
  const states = text.split(',').map((state) => state.trim())
  const wrong = states.filter((state) => !reopenable.includes(state))
  if (wrong.length === 0) return states
  throw new Misuse(`expected --state to be of ${reopenable.join(', ')}, got ${wrong.join(', ')}`)
}

function leftLine(run: number, instead: number): string {
  return `run ${run} stays closed: a list has one open run at a time, and that is run ${instead}; when it has ended, type: npm run retry -- --run ${run}`
}

function refusedLine(refused: number): string {
  return `${count(refused, 'task')} left out: paid for, and the tables refused the rows; npm run reparse stores them once they may be stored`
}

async function costLine(mill: Mill, tasks: number): Promise<string> {
  const dearest = await dearestSeen(mill.db, mill.supplier.account)
  const cost = dearest === null ? 'an unknown number of' : `at most ${dearest * tasks}`
  return `${count(tasks, 'task')} to be bought again for ${cost} credits`
}
