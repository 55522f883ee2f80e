// The budget command: shows and sets the budgets of lists, days and months.

import { npmRun } from '../../base/cli/commands.ts'
import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { countFlag } from '../../base/cli/flags.ts'
import { formatTable } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { localDate } from '../../base/time/zone.ts'
import { readSpent } from '../../core/forecast/foresee.ts'
import {
  monthsOf,
  readAllListBudgets,
  readOpenBudgets,
  setListBudget,
} from '../../core/ledger/account.ts'
import { type Mill, openMill } from '../../core/mill.ts'
import { databaseNow } from '../../core/nights/nights.ts'
import { expectList } from '../../core/runs/run.ts'

interface BudgetFlags {
  readonly list?: string
  readonly credits?: string
  readonly none?: true
}

export async function runBudget({ options, env, closers }: Call<BudgetFlags>): Promise<Exit> {
  const change = changeOf(options)
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'budget', reading: change === null })
  if (change !== null) {
    await expectList(mill.db, change.list)
    const day = localDate(config.zone, await databaseNow(mill.db))
    await setListBudget(mill.db, { ...change, day })
    say(
      change.budget === null
        ? `list ${change.list} no longer has its own budget`
        : `all runs of list ${change.list} in one calendar month may use ${change.budget} credits in total`,
    )
  }
  const rows = await readBudgets(mill)
  if (options.json === true) printJson({ budgets: rows })
  else print(formatBudgets(rows))
  return exits.done
}

function changeOf({ list, credits, none }: BudgetFlags) {
  if (list === undefined && credits === undefined && none === undefined) return null
  if (list === undefined) throw new Misuse('expected --list with --credits or --none, got no list')
  if ((credits === undefined) === (none === undefined)) {
    throw new Misuse(
      `expected --credits with the monthly limit of list ${list}, or --none, got ${none === undefined ? 'neither' : 'both'}`,
    )
  }
  return { list, budget: credits === undefined ? null : countFlag('credits', credits) }
}

/** Reads all budgets. A run budget has no start date, because it applies for as long as the run lasts. */
async function readBudgets({ db, config, supplier }: Mill) {
  const now = await databaseNow(db)
  const today = localDate(config.zone, now)
  const began = monthsOf(config.renewal, config.zone)(now.getTime()).month
  const spent = await readSpent(db, supplier, { day: today, month: began })
  const own = [
    { of: 'the day', since: today, budget: config.dailyBudget, gone: spent.day },
    { of: 'the month', since: began, budget: config.monthlyBudget, gone: spent.month },
  ].flatMap(({ budget, ...span }) => (budget === null ? [] : [{ ...span, budget }]))
  const lists = await readAllListBudgets(db, today)
  const runs = await readOpenBudgets(db)
  return [
    ...own,
    ...lists.map(({ list, month, ...budget }) => {
      return { of: `list ${list}`, since: `${month}-01`, ...budget }
    }),
    ...runs.map(({ run, list, budget, gone }) => {
      return { of: `run ${run} of ${list}`, since: null, budget, gone }
    }),
  ].map((row) => ({ ...row, left: Math.max(0, row.budget - row.gone) }))
}

function formatBudgets(rows: Awaited<ReturnType<typeof readBudgets>>): string {
  if (rows.length === 0) {
    return `No budgets are set; to set one, use MILL_DAILY_BUDGET, MILL_MONTHLY_BUDGET, ${npmRun('budget --')} --list NAME --credits N, or enqueue --budget N`
  }
  const cells = rows.map(({ of, since, budget, gone, left }) => [of, since, budget, gone, left])
  return formatTable(['budget of', 'since', 'credits', 'used or held', 'left'], cells, {
    right: ['credits', 'used or held', 'left'],
  })
}
