// After a run: closed, judged, and looked at for alerts.

import { count } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { troubleOf } from '../../base/database/trouble.ts'
import { scrubbedReason } from '../../base/secret.ts'
import { type AfterRuns, besideWork } from '../../core/nights/after-runs.ts'
import { endRuns } from '../../core/nights/judge.ts'
import { lookAtQueries } from './queries.ts'
import { lookAtShares } from './shares.ts'
import {
  claimAlerts,
  insertAlerts,
  markLooked,
  type NewAlert,
  nextUnlooked,
  readAlertRules,
  recoverAlert,
  rulesInForce,
  type UnlookedRun,
  withdrawAlerts,
} from './statements.ts'

type Tell = (line: string) => void

/** What follows the end of runs for whoever ended them: they are closed, judged and looked at for rank alerts. */
export const endNights: AfterRuns = async (mill, tell) => {
  await endRuns(mill.db, tell)
  if ((await nextUnlooked(mill.db)) === null) return
  await besideWork(mill, (db) => lookForAlerts(db, tell))
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
