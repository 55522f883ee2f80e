import { readConfig } from '../shared/config.ts'
import { exits, Misuse, type Exit } from '../shared/errors.ts'
import { printJson, say, type Call } from '../shared/terminal/command.ts'
import { countFlag } from '../shared/terminal/flags.ts'
import { count } from '../shared/terminal/wording.ts'
import { readDuration } from '../shared/time/duration.ts'
import { instantsOf, isDay } from '../shared/time/zone.ts'
import {
  readListBudgets,
  readRunBudgets,
  setRunBudgets,
  type RunBudget,
} from '../store/operator/budgets.ts'
import { expectList, expectRun, expectTag } from '../store/operator/known.ts'
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
  readonly tag?: string
  readonly since?: string
  readonly budget?: string
  readonly buyAgain?: true
  readonly dryRun?: true
  readonly json?: true
}

const reopenable = ['failed', 'unknown', 'unaffordable', 'not_asked']

/** Opens tasks again and makes their jobs, or only says how many there are. */
export async function runRetry({ options, env, closers }: Call<RetryFlags>): Promise<Exit> {
  const config = readConfig(env)
  const selection = selectionOf(options, config.zone)
  const budget = options.budget === undefined ? null : countFlag('budget', options.budget)
  const mill = await openMill({ config, closers, say, name: 'retry' })
  if (selection.run !== null) await expectRun(mill.db, selection.run)
  if (selection.list !== null) await expectList(mill.db, selection.list)
  if (selection.tag !== null) await expectTag(mill.db, selection.tag)
  const { runs, left, tasks } = await chooseRuns(mill.db, selection)
  for (const { run, instead } of left) say(leftLine(run, instead))
  const bound = await readBound(mill, selection, runs)
  await expectMoney(mill, { bound, reopened: runs, budget })
  if (selection.buyAgain) say(await costLine(mill, tasks))
  const refused = await countRefused(mill.db, selection)
  if (refused > 0) say(refusedLine(refused))
  if (options.dryRun === true) {
    if (options.json === true) printJson({ tasks, reopened: 0 })
    say(`${count(tasks, 'task')} would be opened again`)
    return exits.done
  }
  if (budget !== null) await bindRuns(mill, bound, budget)
  const reopened = await reopenTasks(mill.db, selection, runs)
  for (const run of runs) await rebuild(mill, run)
  if (options.json === true) printJson({ tasks, reopened })
  say(
    reopened === 0
      ? nothingFound(budget !== null && bound.length > 0)
      : `${count(reopened, 'task')} open again; type: npm run work -- --drain`,
  )
  return exits.done
}

function selectionOf(options: RetryFlags, zone: string): Selection {
  const buyAgain = options.buyAgain === true
  const states = readStates(options.state ?? '')
  const { run = null, list = null, error = null, tag = null } = options
  if (buyAgain && run === null && list === null) {
    throw new Misuse('expected --run or --list beside --buy-again, got neither; it costs money')
  }
  return {
    run,
    list,
    states: buyAgain ? [...states, 'answered', 'reused'] : states,
    error,
    tag,
    since: options.since === undefined ? null : sinceFlag(options.since, zone),
    buyAgain,
  }
}

/** Reads the runs that a typed budget is for: those that are opened, and the one that is named if it is open as it is. */
async function readBound({ db }: Mill, { run }: Selection, reopened: readonly number[]) {
  const named = run === null || reopened.includes(run) ? [] : [run]
  const found = await readRunBudgets(db, [...reopened, ...named])
  return found.filter((one) => one.open || reopened.includes(one.run))
}

/** Refuses a budget that is used up, that of a run or of its list: every task would be unaffordable again at once. */
async function expectMoney(
  mill: Mill,
  {
    bound,
    reopened,
    budget,
  }: {
    bound: readonly RunBudget[]
    reopened: readonly number[]
    budget: number | null
  },
) {
  const dearest = (await dearestSeen(mill.db, mill.supplier.account)) ?? 1
  for (const one of bound) {
    const { run, gone } = one
    const opened = reopened.includes(run)
    const most = budget ?? (opened ? one.budget : null)
    const least = opened ? gone + dearest : gone
    if (most === null || most >= least) continue
    const got =
      budget === null ? `${most}, of which ${gone} are gone` : `${most}: ${gone} are used or held`
    const why = opened ? ', and what is opened would be unaffordable again at once' : ''
    throw new Misuse(
      `expected a budget of at least ${least} credits for run ${run}, got ${got}${why}; type --budget with what the run may use in all, those ${gone} with it`,
    )
  }
  for (const { list, month, budget: most, gone } of await readListBudgets(mill.db, reopened)) {
    if (most >= gone + dearest) continue
    throw new Misuse(
      `expected list ${list} to have at least ${gone + dearest} credits for ${month}, got ${most}, of which ${gone} are gone: what is opened would be unaffordable again at once; type: npm run budget -- --list ${JSON.stringify(list)} --credits N`,
    )
  }
}

/** Sets the budget of runs, of which workers may be buying. */
async function bindRuns({ db }: Mill, bound: readonly RunBudget[], budget: number): Promise<void> {
  const runs = bound.map(({ run }) => run)
  const [first] = bound
  if (first === undefined) return
  if (!(await setRunBudgets(db, runs, budget))) {
    throw new Misuse(
      `expected a budget of at least what each run has used, got ${budget}, and more was bought meanwhile; nothing is changed: type --budget with more`,
    )
  }
  say(
    bound.length === 1
      ? `run ${first.run} may use ${budget} credits in all, ${first.gone} are used or held`
      : `each of ${count(bound.length, 'run')} may use ${budget} credits in all, what it has used with it`,
  )
}

/** A span back from now, or the beginning of a day. */
function sinceFlag(text: string, zone: string): Date {
  const span = readDuration(text)
  if (span !== null) return new Date(Date.now() - span)
  const [start] = isDay(text) ? instantsOf(zone, Date.parse(`${text}T00:00:00Z`)) : []
  if (start !== undefined) return new Date(start)
  throw new Misuse(`expected --since to be a day like 2026-10-03 or a span like 12h, got ${text}`)
}

function readStates(text: string): string[] {
  const states = text.split(',').map((state) => state.trim())
  const wrong = states.filter((state) => !reopenable.includes(state))
  if (wrong.length === 0) return states
  throw new Misuse(`expected --state to be of ${reopenable.join(', ')}, got ${wrong.join(', ')}`)
}

function nothingFound(bound: boolean): string {
  return `no such task was found in a run that may be opened: nothing ${bound ? 'else ' : ''}is changed`
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
