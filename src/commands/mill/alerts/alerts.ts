import { scrubbedReason } from '../../../shared/secret.ts'
import { openDatabase, openPool, type Database } from '../../../store/database.ts'
import { finishDays } from '../../../store/analysis/finish.ts'
import { anyUnfinished } from '../../../store/analysis/unfinished.ts'
import { readAlertRules } from '../../../store/nights/alert-rules.ts'
import {
  claimAlerts,
  insertAlerts,
  markLooked,
  nextUnlooked,
  recoverAlert,
  rulesInForce,
  withdrawAlerts,
  type NewAlert,
  type UnlookedRun,
} from '../../../store/nights/alerts.ts'
import { letGo, troubleOf } from '../../../store/trouble.ts'
import { count } from '../../../shared/terminal/wording.ts'
import { lookAtQueries } from './queries.ts'
import { lookAtShares } from './shares.ts'
import type { Mill } from '../mill.ts'
import { endRuns } from '../night-health.ts'

type Tell = (line: string) => void

/** What follows the end of runs for whoever ended them: they are closed, judged and looked at for rank alerts. */
export async function endNights(mill: Pick<Mill, 'db' | 'databaseUrl'>, tell: Tell): Promise<void> {
  await endRuns(mill.db, tell)
  if ((await nextUnlooked(mill.db)) === null) return
  await besideWork(mill, (db) => lookForAlerts(db, tell))
}

/**
 * Adds up the next day whose runs have ended. A large one takes seconds: nobody who waits for the end of a list, or takes
 * a database that is slow for one that is away, is to wait for it.
 */
export async function addUpDay(mill: Pick<Mill, 'db' | 'databaseUrl'>, tell: Tell): Promise<void> {
  if (!(await anyUnfinished(mill.db))) return
  await besideWork(mill, async (db) => {
    try {
      await finishDays(db, 1)
    } catch (error) {
      if (troubleOf(error) !== 'data') throw error
      // Without its sums a day is read answer by answer: nothing is lost but time.
      tell(`a day was not added up: ${scrubbedReason(error)}`)
    }
  })
}

async function besideWork(
  { databaseUrl }: Pick<Mill, 'databaseUrl'>,
  work: (db: Database) => Promise<void>,
): Promise<void> {
  // Not over the worker's own connections: those go by keys alone, and may hold nothing for long.
  const db = openDatabase(openPool(databaseUrl, { name: 'alerts', max: 1 }))
  try {
    await work(db)
  } finally {
    await letGo(() => db.destroy())
  }
}

/** Looks at each run that ended, in the order of their days. While another process is at it, it does that. */
async function lookForAlerts(db: Database, tell: Tell): Promise<void> {
  for (;;) {
    const run = await nextUnlooked(db)
    if (run === null) return
    const lines = await tryLook(db, run)
    if (lines === null) return
    for (const line of lines) tell(line)
  }
}

async function tryLook(db: Database, run: UnlookedRun): Promise<readonly string[] | null> {
  try {
    return await db.transaction().execute((trx) => look(trx, run))
  } catch (error) {
    if (troubleOf(error) !== 'data') throw error
    // Whatever one night holds, work and the nights after it go on.
    await markLooked(db, run)
    return [`no rank alerts of run ${run.id}: ${scrubbedReason(error)}`]
  }
}

async function look(trx: Database, run: UnlookedRun): Promise<readonly string[] | null> {
  if (!(await claimAlerts(trx))) return null
  const next = await nextUnlooked(trx)
  // Another process was first: the next one is asked for.
  if (next === null || next.id !== run.id || next.judged_at !== run.judged_at) return []
  const lines = run.suspect ? await takeBack(trx, run) : await lookAt(trx, run)
  await markLooked(trx, run)
  return lines
}

async function takeBack(trx: Database, run: UnlookedRun): Promise<readonly string[]> {
  const back = await withdrawAlerts(trx, run)
  return back === 0 ? [] : [`${count(back, 'rank alert')} taken back: run ${run.id} is suspect`]
}

async function lookAt(trx: Database, run: UnlookedRun): Promise<readonly string[]> {
  const inForce = await rulesInForce(trx, run)
  const rules = (await readAlertRules(trx)).filter(({ name }) => inForce.has(name))
  const queries = await lookAtQueries(trx, {
    run,
    rules: rules.filter(({ what }) => what !== 'share_fell'),
  })
  const shares = await lookAtShares(trx, {
    run,
    rules: rules.filter(({ what }) => what === 'share_fell'),
  })
  const raised = [...queries.raised, ...shares.raised]
  const recovered = [...queries.recovered, ...shares.recovered]
  for (const one of recovered) await recoverAlert(trx, one)
  await insertAlerts(trx, raised)
  const ended = recovered.length === 0 ? [] : [`${count(recovered.length, 'rank alert')} recovered`]
  return [...linesOf(raised), ...ended]
}

/** One line for each rule: its first alert, and how many more there are. */
function linesOf(raised: readonly NewAlert[]): readonly string[] {
  const rules = new Set(raised.map(({ rule }) => rule))
  return [...rules].map((rule) => {
    const same = raised.filter((one) => one.rule === rule)
    const more = same.length === 1 ? '' : `, and ${same.length - 1} more: npm run alerts`
    return `rank alert ${rule}: ${same[0]?.said}${more}`
  })
}
