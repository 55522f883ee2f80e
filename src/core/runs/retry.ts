// The retry, cancel and resume commands.

import { npmRun } from '../../base/cli/commands.ts'
import { type Call, printJson, say, addYesHint } from '../../base/cli/command.ts'
import { countFlag } from '../../base/cli/flags.ts'
import { count } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { only } from '../../base/database/sql-file.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { instantsOf, isDay, readDuration } from '../../base/time/zone.ts'
import {
  readListBudgets,
  readRunBudgets,
  type RunBudget,
  setRunBudgets,
} from '../ledger/account.ts'
import { openAccount } from '../ledger/books.ts'
import {
  cancelRun,
  insisting,
  liftStops,
  openRunsOf,
  readOpenTasks,
} from '../ledger/change-tasks.ts'
import { type Mill, openMill } from '../mill.ts'
import { rebuild } from './rebuild.ts'
import { expectList, expectRun, expectTag } from './run.ts'
import { dearestSeen } from './status.ts'
import { flawCode } from './waits.ts'

interface RetryFlags {
  readonly run?: number
  readonly list?: string
  readonly state?: string
  readonly error?: string
  readonly tag?: string
  readonly since?: string
  readonly budget?: string
  readonly buyAgain?: true
  readonly yes?: true
}

const nothingFound = 'found no tasks to retry in runs that can be reopened; nothing'
const reopenable = ['failed', 'unknown', 'unaffordable', 'not_asked']

/** Reopens tasks and creates their jobs. A preview only reports the number of tasks. */
export async function runRetry({ options, env, closers }: Call<RetryFlags>): Promise<Exit> {
  const config = readConfig(env)
  const selection = selectionOf(options, config.zone)
  const budget = options.budget === undefined ? null : countFlag('budget', options.budget)
  const mill = await openMill({ config, closers, say, name: 'retry' })
  if (selection.run !== null) await expectRun(mill.db, selection.run)
  if (selection.list !== null) await expectList(mill.db, selection.list)
  if (selection.tag !== null) await expectTag(mill.db, selection.tag)
  const { runs, left, tasks } = await chooseRuns(mill.db, selection)
  for (const { run, instead } of left) {
    say(
      `run ${run} stays closed, because a list can have only one open run at a time, which is now run ${instead}; when that run has ended, run: ${npmRun('retry --')} --run ${run}`,
    )
  }
  const bound = await readBound(mill, selection, runs)
  await expectMoney(mill, bound, { reopened: runs, budget })
  if (selection.buyAgain) {
    const dearest = await dearestSeen(mill.db, mill.supplier.account)
    const cost = dearest === null ? 'an unknown number of' : `at most ${dearest * tasks}`
    say(`${count(tasks, 'task')} to buy again for ${cost} credits`)
  }
  const refused = await countRefused(mill.db, selection)
  if (refused > 0) {
    say(
      `${count(refused, 'task')} left out, because the answer is paid for but the database rejected its rows; ${npmRun('reparse')} stores the rows once the database accepts them`,
    )
  }
  if (options.yes !== true) {
    if (options.json === true) printJson({ tasks, reopened: 0 })
    say(
      tasks === 0 && budget === null
        ? `${nothingFound} was changed`
        : `${count(tasks, 'task')} would be reopened: ${addYesHint}`,
    )
    return exits.done
  }
  if (budget !== null) await bindRuns(mill, bound, budget)
  const reopened = await reopenTasks(mill.db, selection, runs)
  for (const run of runs) await rebuild(mill, run)
  if (options.json === true) printJson({ tasks, reopened })
  say(
    reopened === 0
      ? `${nothingFound}${budget !== null && bound.length > 0 ? ' else' : ''} was changed`
      : `${count(reopened, 'task')} reopened; run: ${npmRun('work --')} --drain`,
  )
  return exits.done
}

function selectionOf(options: RetryFlags, zone: string): Selection {
  const { run = null, list = null, error = null, tag = null, buyAgain = false } = options
  const states = readStates(options.state ?? '')
  if (buyAgain && run === null && list === null) {
    throw new Misuse(
      'expected --run or --list with --buy-again, got neither; buying again costs credits',
    )
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

/** Reads the runs that `--budget` applies to: the reopened runs, and the run named by `--run` if it is already open. */
async function readBound({ db }: Mill, { run }: Selection, reopened: readonly number[]) {
  const named = run === null ? [] : [run]
  const found = await readRunBudgets(db, [...reopened, ...named])
  return found.filter((one) => one.open || reopened.includes(one.run))
}

/** Throws if the budget of a run or list is used up, because reopened tasks could not be bought. */
async function expectMoney(
  mill: Mill,
  bound: readonly RunBudget[],
  { reopened, budget }: { readonly reopened: readonly number[]; readonly budget: number | null },
) {
  const dearest = (await dearestSeen(mill.db, mill.supplier.account)) ?? 1
  for (const one of bound) {
    const { run, gone } = one
    const opened = reopened.includes(run)
    const most = budget ?? (opened ? one.budget : null)
    const least = opened ? gone + dearest : gone
    if (most === null || most >= least) continue
    const got =
      budget === null
        ? `${most}, of which ${gone} are used`
        : `${most}, but ${gone} are already used or held`
    const why = opened ? ', and the reopened tasks would immediately be unaffordable again' : ''
    throw new Misuse(
      `expected a budget of at least ${least} credits for run ${run}, got ${got}${why}; set --budget to the total that the run may use, including the ${gone} already used or held`,
    )
  }
  for (const { list, month, budget: most, gone } of await readListBudgets(mill.db, reopened)) {
    if (most >= gone + dearest) continue
    throw new Misuse(
      `expected list ${list} to have at least ${gone + dearest} credits for ${month}, got ${most}, of which ${gone} are used, so the reopened tasks would immediately be unaffordable again; run: ${npmRun('budget --')} --list ${JSON.stringify(list)} --credits N`,
    )
  }
}

async function bindRuns({ db }: Mill, bound: readonly RunBudget[], budget: number): Promise<void> {
  const runs = bound.map(({ run }) => run)
  const [first] = bound
  if (first === undefined) return
  if (!(await setRunBudgets(db, runs, budget))) {
    throw new Misuse(
      `--budget ${budget} no longer covers the credits used by each run, because a run bought more in the meantime; nothing was changed; set a larger --budget`,
    )
  }
  say(
    bound.length === 1
      ? `run ${first.run} may use ${budget} credits in total; ${first.gone} are used or held`
      : `each of the ${count(bound.length, 'run')} may use ${budget} credits in total, including the credits already used`,
  )
}

/** Returns the start of a day, or of a period that ends now. */
function sinceFlag(text: string, zone: string): Date {
  const span = readDuration(text)
  if (span !== null) return new Date(Date.now() - span)
  const [start] = isDay(text) ? instantsOf(zone, Date.parse(`${text}T00:00:00Z`)) : []
  if (start !== undefined) return new Date(start)
  throw new Misuse(
    `expected --since to be a date like 2026-10-03 or a duration like 12h, got ${text}`,
  )
}

function readStates(text: string): string[] {
  const states = text.split(',').map((state) => state.trim())
  const wrong = states.filter((state) => !reopenable.includes(state))
  if (wrong.length === 0) return states
  throw new Misuse(
    `expected --state to be one or more of ${reopenable.join(', ')}, got ${wrong.join(', ')}`,
  )
}

export interface Selection {
  readonly run: number | null
  readonly list: string | null
  readonly states: readonly string[]
  /** Selects only tasks that ended with this error, or whose answer has this defect. */
  readonly error: string | null
  /** Selects only tasks whose query has this tag in the run's list. */
  readonly tag: string | null
  readonly since: Date | null
  /** If true, tasks that have an answer, or a body whose rows were rejected, are bought again too. */
  readonly buyAgain: boolean
}

/** Chooses the runs to reopen: at most one manual run per list (the open run, otherwise the newest selected run). */
export async function chooseRuns(db: Database, selection: Selection) {
  const { rows } = await sql<{ run: number; instead: number; tasks: number }>`
    with meant as (
      select t.run_id, count(*) as tasks
      from tasks t
      where ${selected(selection)}
      group by t.run_id
    )
    select
      r.id as run,
      meant.tasks,
      case
        when r.kind <> 'manual' then r.id
        else coalesce(
          (
            select o.id
            from runs o
            where o.list_id = r.list_id
              and o.kind = 'manual'
              and o.state in ('planning', 'open')
          ),
          max(r.id) over (partition by r.list_id, r.kind)
        )
      end as instead
    from runs r
    join meant on meant.run_id = r.id
    order by r.id`.execute(db)
  const chosen = rows.filter(({ run, instead }) => run === instead)
  return {
    runs: chosen.map(({ run }) => run),
    // Runs that stay closed, because another manual run of the same list is or will be open.
    left: rows.filter(({ run, instead }) => run !== instead),
    tasks: chosen.reduce((sum, { tasks }) => sum + tasks, 0),
  }
}

// The answer has been paid for, but only its body is stored, because its rows were rejected. `reparse` can store them.
const refusedTasks = sql`
  t.error_code is not distinct from 'UNSTORABLE'
  and exists (select from calls c join raw_answers a on a.call_id = c.id where c.task_id = t.id)`

/** Counts the tasks that a selection omits because their answers are stored only as bodies. */
async function countRefused(db: Database, selection: Selection): Promise<number> {
  if (selection.buyAgain) return 0
  const { rows } = await sql<{ count: number }>`
    select count(*) as count
    from tasks t
    where ${selected({ ...selection, buyAgain: true })}
      and t.search_id is null
      and ${refusedTasks}`.execute(db)
  return only(rows).count
}

function selected({ run, list, states, error, tag, since, buyAgain }: Selection) {
  return sql`
    t.state = any(${states}::text[])
    and (${run}::bigint is null or t.run_id = ${run}::bigint)
    and (
      ${error}::text is null
      or t.error_code = ${error}::text
      or exists (select from searches s where s.id = t.search_id and ${flawCode} = ${error}::text)
    )
    and (${since}::timestamptz is null or t.finished_at >= ${since}::timestamptz)
    and (
      ${tag}::text is null
      or exists (
        select from runs r
        join list_queries lq on lq.list_id = r.list_id and lq.query_id = t.query_id
        where r.id = t.run_id and ${tag}::text = any(lq.tags)
      )
    )
    and (
      ${buyAgain}::boolean
      or t.state = 'not_asked'
      or (t.search_id is null and not (${refusedTasks}))
    )
    and exists (
      select from runs r
      join lists l on l.id = r.list_id
      where r.id = t.run_id and r.state <> 'cancelled' and (${list}::text is null or l.name = ${list}::text)
    )`
}

// Maximum number of tasks that one statement changes, because workers wait while the statement locks the runs' rows.
const portion = 2000

/** Reopens tasks in the given runs, in batches. The caller must queue the slices. */
export async function reopenTasks(db: Database, selection: Selection, runs: readonly number[]) {
  let reopened = 0
  // Reopens tasks in order of id, so that no task is reopened twice, even if it was answered in the meantime.
  for (let after = 0; ;) {
    const some = await insisting(() => reopenPortion(db, selection, { runs, after }))
    if (some.last === null) return reopened
    reopened += some.count
    after = some.last
  }
}

/** Locks the runs first, then the tasks, in the same order as settlement, to avoid deadlocks. */
async function reopenPortion(
  db: Database,
  selection: Selection,
  { runs, after }: { readonly runs: readonly number[]; readonly after: number },
) {
  return db.transaction().execute(async (trx) => {
    await sql`
      select from runs where id = any(${runs}::bigint[]) order by id for no key update`.execute(trx)
    const { rows } = await sql<{ count: number; last: number | null }>`
      with meant as materialized (
        select t.id
        from tasks t
        where t.run_id = any(${runs}::bigint[])
          and t.id > ${after}
          and ${selected(selection)}
        order by t.id
        limit ${portion}
      ),
      reopened as (
        update tasks t
        set
          state = 'open', attempts = 0, ambiguous = 0, deaths = 0, not_before = null,
          finished_at = null, error_code = null, error_message = null,
          search_id = null,
          answers_after = case
            when t.search_id is null and t.error_code is distinct from 'UNSTORABLE' then t.answers_after
            else clock_timestamp()
          end
        where t.id = any(array(select id from meant))
          and ${selected(selection)}
        returning t.run_id, t.slice
      ),
      slices_open as (
        update slices s
        set done_at = null, round = s.round + 1
        from (select distinct run_id, slice from reopened) r
        where s.run_id = r.run_id and s.slice = r.slice
      ),
      runs_open as (
        update runs
        set state = 'open', finished_at = null, opened_at = clock_timestamp()
        where id in (select run_id from reopened)
      )
      select (select count(*) from reopened) as count, (select max(id) from meant) as last`.execute(
      trx,
    )
    return only(rows)
  })
}

interface CancelFlags {
  readonly run?: number
  readonly list?: string
  readonly yes?: true
}

/** Ends a run, or a list's open runs: cancels open tasks and keeps answers. Without `--yes`, only shows the counts. */
export async function runCancel({ options, env, closers }: Call<CancelFlags>): Promise<Exit> {
  const { run, list, json, yes = false } = options
  if ((run === undefined) === (list === undefined)) {
    throw new Misuse(
      `expected --run with a run number or --list with a list name, got ${run === undefined ? 'nothing' : 'both'}; ${npmRun('status')} shows runs and lists`,
    )
  }
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'cancel' })
  const runs = list === undefined ? [run ?? 0] : await runsOf(mill.db, list)
  const ended: { run: number; cancelled: number }[] = []
  for (const one of runs) ended.push(await cancel(mill.db, one, yes))
  const shown = list === undefined ? ended[0] : { list, runs: ended }
  if (json === true) printJson({ ...shown, dry_run: !yes })
  return exits.done
}

async function runsOf(db: Database, list: string): Promise<readonly number[]> {
  await expectList(db, list)
  const runs = await openRunsOf(db, list)
  if (runs.length > 0) return runs
  throw new Misuse(`expected list ${list} to have an open run, got none; see ${npmRun('status')}`)
}

async function cancel(db: Database, run: number, yes: boolean) {
  const tasks = yes ? ((await cancelRun(db, run))?.cancelled ?? null) : await readOpenTasks(db, run)
  if (tasks === null) {
    throw new Misuse(
      `expected run ${run} to be open, got a run that has ended or does not exist; see ${npmRun('status')}`,
    )
  }
  say(
    yes
      ? `run ${run} was cancelled with ${count(tasks, 'open task')}; answers to calls in flight are still stored`
      : `run ${run} would be cancelled with ${count(tasks, 'open task')}: ${addYesHint}`,
  )
  return { run, cancelled: tasks }
}

export async function runResume(call: Call<{ readonly forgetPrices?: true }>): Promise<Exit> {
  const { options, env, closers } = call
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'resume' })
  const { account: name, origin: kind } = mill.supplier
  const account = await openAccount(mill.db, { name, kind })
  if (options.forgetPrices === true) {
    await mill.db.deleteFrom('account_costs').where('account_id', '=', account).execute()
    say('the known prices were forgotten; the next call is sent alone to determine the price')
  }
  const lifted = (await liftStops(mill.db, account)).map(({ reason }) => reason)
  if (options.json === true) printJson({ account: name, lifted })
  const what = lifted.length === 0 ? 'there were no stops to lift' : `lifted: ${lifted.join(', ')}`
  say(`account ${name}: ${what}; the next call checks the balance`)
  say(`waiting workers continue automatically; otherwise run: ${npmRun('work --')} --drain`)
  return exits.done
}
