// Closes and judges finished runs, and checks them for alerts.

import { npmRun } from '../../base/cli/commands.ts'
import { count } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { troubleOf } from '../../base/database/trouble.ts'
import { scrubbedReason } from '../../base/secret.ts'
import { type AfterRuns, besideWork } from '../../core/nights/after-runs.ts'
import { endRuns } from '../../core/nights/judge.ts'
import { checkQueries } from './queries.ts'
import { checkShares } from './shares.ts'
import {
  claimAlerts,
  countAnswered,
  type Headline,
  insertAlerts,
  markChecked,
  type NewAlert,
  nextUncheckedRun,
  readAlertRules,
  recoverAlert,
  rulesInForce,
  type UncheckedRun,
  withdrawAlerts,
} from './statements.ts'

type ReportLine = (line: string) => void

/** Closes and judges finished runs, and checks them for rank alerts. */
export const endNights: AfterRuns = async (mill, report) => {
  await endRuns(mill.db, report)
  if ((await nextUncheckedRun(mill.db)) === null) return
  await besideWork(mill, (db) => checkForAlerts(db, report))
}

/** Checks each finished run, in order of days; does nothing if another process is already doing so. */
async function checkForAlerts(db: Database, report: ReportLine): Promise<void> {
  for (;;) {
    const run = await nextUncheckedRun(db)
    if (run === null) return
    const lines = await tryCheck(db, run)
    if (lines === null) return
    for (const line of lines) report(line)
  }
}

async function tryCheck(db: Database, run: UncheckedRun): Promise<readonly string[] | null> {
  try {
    return await db.transaction().execute((trx) => check(trx, run))
  } catch (error) {
    if (troubleOf(error) !== 'data') throw error
    // An error in one night must not stop the worker or the check of later nights.
    await markChecked(db, run, null)
    return [`the rank alerts of run ${run.id} could not be evaluated: ${scrubbedReason(error)}`]
  }
}

async function check(trx: Database, run: UncheckedRun): Promise<readonly string[] | null> {
  if (!(await claimAlerts(trx))) return null
  const next = await nextUncheckedRun(trx)
  // Another process has already checked this run, so continue with the next one.
  if (next === null || next.id !== run.id || next.judged_at !== run.judged_at) return []
  const back = await withdrawAlerts(trx, run)
  const why = run.suspect ? `run ${run.id} is suspect` : `answers of run ${run.id} are quarantined`
  const taken = back === 0 ? [] : [`${count(back, 'rank alert')} withdrawn: ${why}`]
  const { lines, summary } = run.suspect ? nothingFound : await checkRun(trx, run)
  await markChecked(trx, run, summary)
  return [...taken, ...lines]
}

/** Lines to print after a check, and a sentence about all alerts of the night. */
interface CheckResult {
  readonly lines: readonly string[]
  readonly summary: Headline | null
}

const nothingFound: CheckResult = { lines: [], summary: null }

async function checkRun(trx: Database, run: UncheckedRun): Promise<CheckResult> {
  const inForce = await rulesInForce(trx, run)
  const rules = (await readAlertRules(trx)).filter(({ name }) => inForce.has(name))
  const queries = await checkQueries(trx, {
    run,
    rules: rules.filter(({ what }) => what !== 'share_fell'),
  })
  const shares = await checkShares(trx, {
    run,
    rules: rules.filter(({ what }) => what === 'share_fell'),
  })
  const raised = [...queries.raised, ...shares.raised]
  const recovered = [...queries.recovered, ...shares.recovered]
  for (const one of recovered) await recoverAlert(trx, one)
  await insertAlerts(trx, raised)
  const ended = recovered.length === 0 ? [] : [`${count(recovered.length, 'rank alert')} recovered`]
  if (raised.length === 0) return { lines: ended, summary: null }
  const summary = summarise(raised, { run, answered: await countAnswered(trx, run.id) })
  const { severity, headline } = summary
  const told = severity === 'high' ? [`rank alerts: ${headline}`] : linesOf(raised)
  return { lines: [...told, ...ended], summary }
}

/** If this many queries dropped in one night, the night itself should be checked before the queries. */
const badNight = { queries: 5, share: 0.25 }

/** Summarizes all alerts of a night in a sentence, with their severity. */
function summarise(
  raised: readonly NewAlert[],
  { run, answered }: { readonly run: UncheckedRun; readonly answered: number },
): Headline {
  const dropped = new Set(raised.filter(isDrop).map(({ query_id: query }) => query))
  const others = new Set(raised.map(({ query_id: query }) => query))
  dropped.delete(null)
  others.delete(null)
  const share = answered === 0 ? 0 : dropped.size / answered
  const what = `${dropped.size} of ${count(answered, 'keyword')} dropped, ${others.size} with an alert`
  const headline = `${what} (${run.list}, ${run.run_date})`
  if (dropped.size >= badNight.queries && share >= badNight.share) {
    const undo = `${npmRun('trust --')} distrust --run ${run.id} --because "..."`
    return {
      severity: 'high',
      headline: `${headline}; if it looks like a bad night: ${undo}`,
    }
  }
  const shareFell = raised.some(({ what: kind }) => kind === 'share_fell')
  return { severity: share >= 0.05 || shareFell ? 'medium' : 'low', headline }
}

function isDrop({ what, direction }: NewAlert): boolean {
  return direction === 'down' || ['left', 'rival_passed', 'wrong_page'].includes(what)
}

/** Formats one line per rule: its first alert, and the number of further alerts. */
function linesOf(raised: readonly NewAlert[]): readonly string[] {
  const rules = new Set(raised.map(({ rule }) => rule))
  return [...rules].map((rule) => {
    const same = raised.filter((one) => one.rule === rule)
    const more = same.length === 1 ? '' : `, and ${same.length - 1} more: ${npmRun('alerts')}`
    return `rank alert ${rule}: ${same[0]?.said}${more}`
  })
}
