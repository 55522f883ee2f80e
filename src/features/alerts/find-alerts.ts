// Closes and judges finished runs, and checks their answers and shares for the changes that rules watch.

import { npmRun } from '../../base/cli/commands.ts'
import { count } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { troubleOf } from '../../base/database/trouble.ts'
import { prepareReading } from '../../base/database/views.ts'
import { scrubbedReason } from '../../base/secret.ts'
import { type AfterRuns, besideWork } from '../../core/nights/after-runs.ts'
import { endRuns } from '../../core/nights/judge.ts'
import { readOursOn } from '../analysis/domains.ts'
import {
  anybody,
  type AskedQuery,
  concerns,
  decideAlert,
  domainsFor,
  domainsOf,
  type FoundChange,
  measure,
  type Measurement,
  putIntoWords,
  type RankAnswer,
  readAnswersById,
  readAsked,
  readEvidence,
  readPlaces,
  shareQuestion,
  shareSentence,
  type ShownAnswer,
  subjectsOf,
} from './changes.ts'
import {
  type AlertRule,
  claimAlerts,
  countAnswered,
  type Headline,
  insertAlerts,
  type KnownAlert,
  markChecked,
  type NewAlert,
  nextUncheckedRun,
  readAlertRules,
  readKnownAlerts,
  recoverAlert,
  type Recovery,
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

interface AlertOrder {
  readonly run: UncheckedRun
  readonly rules: readonly AlertRule[]
}

interface AlertCheck {
  readonly raised: readonly NewAlert[]
  readonly recovered: readonly Recovery[]
}

const chunkSize = 200
/** Maximum number of answers to skip between the answer before a change and those that confirm the change. */
const passedOver = 6
const first = '00000000-0000-0000-0000-000000000000'

async function checkQueries(trx: Database, { run, rules }: AlertOrder): Promise<AlertCheck> {
  const raised: NewAlert[] = []
  const recovered: Recovery[] = []
  if (rules.length === 0) return { raised, recovered }
  const ours = await readOursOn(trx, run.run_date)
  for (let after = first; ;) {
    const asked = await readAsked(trx, { run: run.id, date: run.run_date, after, limit: chunkSize })
    const last = asked.at(-1)
    if (last === undefined) return { raised, recovered }
    const facts = await readFacts(trx, { run, rules, ours, asked })
    const found: FoundChange[] = []
    for (const query of asked) {
      for (const rule of rules.filter((one) => concerns(one, query))) {
        judge(facts, { query, rule }, { found, recovered })
      }
    }
    raised.push(...(await putIntoWords(trx, facts, found)))
    after = last.query_id
  }
}

type Facts = Awaited<ReturnType<typeof readFacts>>

/** Reads what the rules need to know about some queries of a run. */
async function readFacts(
  trx: Database,
  {
    run,
    rules,
    ours,
    asked,
  }: AlertOrder & { readonly ours: readonly string[]; readonly asked: readonly AskedQuery[] },
) {
  const queries = asked.map(({ query_id: id }) => id)
  const limit = Math.max(...rules.map(({ confirm }) => confirm)) + passedOver
  const answers = await readEvidence(trx, { queries, date: run.run_date, limit })
  const evidence = new Map<string, RankAnswer[]>()
  for (const one of answers) {
    evidence.set(one.query_id, [...(evidence.get(one.query_id) ?? []), one])
  }
  const known = await readKnownAlerts(trx, queries)
  // Answers that open alerts are based on.
  const standIns = known
    .flatMap((one) => (one.recovered_run_date === null ? [one.base_search_id, one.search_id] : []))
    .filter((id) => id !== null)
  const kept = new Map((await readAnswersById(trx, standIns)).map((one) => [one.search_id, one]))
  const told = [
    ...known.flatMap((one) => [one.domain, one.other_domain]),
    ...asked.map((one) => one.target_domain),
  ]
  const named = domainsOf(rules, ours)
  const domains = named === null ? null : [...named, ...told.filter((name) => name !== null)]
  const searches = [...answers.map(({ search_id: id }) => id), ...standIns]
  return { run, ours, evidence, known, kept, places: await readPlaces(trx, searches, domains) }
}

function judge(
  facts: Facts,
  { query, rule }: { readonly query: AskedQuery; readonly rule: AlertRule },
  into: { readonly found: FoundChange[]; readonly recovered: Recovery[] },
): void {
  const all = facts.evidence.get(query.query_id) ?? []
  const now = all.at(-1)
  if (now === undefined) return
  // Answers of a different API, or of the sandbox, are not comparable.
  const series = all.filter(({ origin, api }) => origin === now.origin && api === now.api)
  const around = { query, ours: facts.ours, answers: series, places: facts.places }
  for (const [key, subject] of subjectsOf(rule, around, facts.known)) {
    const known = facts.known.find((one) => one.rule === rule.name && one.subject === key)
    // Only a later answer may end an alert or start the next one. The newest answer can be older than the alert,
    // because the night of the alert may have lost its answers since then.
    if (known !== undefined && now.run_date < known.run_date) continue
    const since = known?.recovered_run_date ?? ''
    const fresh = series.filter((one) => one.run_date >= since)
    const see = (answer: ShownAnswer) => measure(around, subject, answer)
    const step = decideAlert(rule, fresh.map(see), standingOf(facts, known, see))
    const base = step.kind === 'raise' ? fresh[step.base] : undefined
    if (step.kind === 'raise' && base !== undefined) {
      const measurements = { base: see(base), now: see(now) }
      into.found.push({ rule, query, key, subject, way: step.way, base, now, measurements })
    }
    if (step.kind === 'recover' && known !== undefined) {
      const end = {
        recovered_run_id: now.run_id,
        recovered_run_date: now.run_date,
        recovered_search_id: now.search_id,
        recovered_position: see(now).position,
      }
      into.recovered.push({ id: known.id, end })
    }
  }
}

function standingOf(
  { kept }: Facts,
  known: KnownAlert | undefined,
  see: (answer: ShownAnswer) => Measurement,
) {
  if (known === undefined || known.recovered_run_date !== null) return null
  const base = kept.get(known.base_search_id ?? 0)
  const raised = kept.get(known.search_id ?? 0)
  // Both exist, because the answers that an alert is based on are not deleted.
  if (base === undefined || raised === undefined) return null
  return { base: see(base), raised: see(raised), way: known.direction }
}

/** Checks the shares for the rule's label, for its list, or for all queries. */
async function checkShares(trx: Database, { run, rules }: AlertOrder): Promise<AlertCheck> {
  const raised: NewAlert[] = []
  const recovered: Recovery[] = []
  const meant = rules.filter(({ list }) => list === null || list === run.list)
  const origin = meant.length === 0 ? null : await readRunOrigin(trx, run.id)
  if (origin === null) return { raised, recovered }
  // Restricts this transaction to answers of one origin.
  await prepareReading(trx, { origins: origin })
  const known = await readKnownAlerts(trx, 'shares')
  const ours = await readOursOn(trx, run.run_date)
  for (const rule of meant) {
    const domains = domainsFor(rule, ours)
    const mine = known.filter((one) => one.rule === rule.name)
    const found = await checkRule(trx, { rule, run, origin, known: mine, domains })
    raised.push(...found.raised)
    recovered.push(...found.recovered)
  }
  return { raised, recovered }
}

interface Watch {
  readonly rule: AlertRule
  readonly run: AlertOrder['run']
  readonly origin: string
  readonly known: readonly KnownAlert[]
  readonly domains: readonly string[]
}

async function checkRule(
  trx: Database,
  { rule, run, origin, known, domains }: Watch,
): Promise<AlertCheck> {
  const tag = rule.list === null ? (rule.tag ?? anybody) : `list=${rule.list}`
  const days = await readShareDays(trx, rule, run.run_date)
  const standIns = known.flatMap((one) =>
    one.recovered_run_date === null ? [one.base_run_date, one.run_date] : [],
  )
  const shares = new Map<string, readonly ShareDay[]>()
  // Queries each day separately, because a constant date restricts the view to that day's rows.
  for (const date of new Set([...days, ...standIns])) {
    shares.set(date, await readSharesOn(trx, { tag, date, domains }))
  }
  const raised: NewAlert[] = []
  const recovered: Recovery[] = []
  for (const domain of domains) {
    const subject = `${tag} ${domain} ${origin}`
    const last = known.find((one) => one.subject === subject)
    const dayOf = (date: string) => shares.get(date)?.find((one) => one.domain === domain)
    const found = judgeShare(rule, { days, dayOf, last, until: run.run_date })
    if (found === null) continue
    const { now, before } = found
    if (before !== null) {
      const gainer = { before: before.run_date, tag, date: now.run_date }
      const [other = null] = await readGainers(trx, gainer)
      const told = {
        ...{ domain, tag, other, origin, baseDate: before.run_date, date: now.run_date },
        ...{ before: before.share, now: now.share },
      }
      raised.push({
        ...{ rule: rule.name, what: rule.what, subject, list: run.list, tag },
        ...{ domain, other_domain: other, origin },
        ...{ base_run_date: before.run_date, previous_share: before.share },
        ...{ run_id: run.id, run_date: now.run_date, share: now.share },
        ...{ said: shareSentence(told), question: shareQuestion(told) },
      })
    } else if (last !== undefined) {
      const end = { recovered_run_date: now.run_date, recovered_share: now.share }
      recovered.push({ id: last.id, end: { recovered_run_id: run.id, ...end } })
    }
  }
  return { raised, recovered }
}

interface ShareSeries {
  readonly days: readonly string[]
  readonly dayOf: (date: string) => ShareDay | undefined
  readonly last: KnownAlert | undefined
  readonly until: string
}

/** Evaluates one share. `before` is the day that it changed from; null if an alert has ended. */
function judgeShare(
  rule: AlertRule,
  { days, dayOf, last, until }: ShareSeries,
): { readonly now: ShareDay; readonly before: ShareDay | null } | null {
  const since = last?.recovered_run_date ?? ''
  const series = days
    .filter((date) => date >= since)
    .map(dayOf)
    .filter((day) => day !== undefined)
  const now = series.at(-1)
  // The day is not complete, or no query with the tag was answered. The check after the last run of the day decides.
  if (now === undefined || now.run_date < until) return null
  if (last !== undefined && now.run_date < last.run_date) return null
  const stands = last !== undefined && last.recovered_run_date === null
  const base = stands ? dayOf(last.base_run_date) : undefined
  const mark = stands ? dayOf(last.run_date) : undefined
  if (stands && (base === undefined || mark === undefined)) return null
  const standing =
    base === undefined || mark === undefined
      ? null
      : { base: measureDay(base), raised: measureDay(mark), way: null }
  const step = decideAlert(rule, series.map(measureDay), standing)
  if (step.kind === 'recover') return { now, before: null }
  const before = step.kind === 'raise' ? series[step.base] : undefined
  return before === undefined ? null : { now, before }
}

function measureDay({ share, queries, depth }: ShareDay): Measurement {
  return { position: null, depth, rival: null, flag: null, share, queries }
}

/** Share of voice of a domain on a day, with the number of queries that it is based on. */
interface ShareDay {
  readonly run_date: string
  readonly domain: string
  readonly share: number
  readonly queries: number
  readonly depth: number
}

/**
 * Newest days with runs of a rule's list, or of any list, oldest first. On these days, all runs have been judged and
 * none is suspect. The last day is the given one, or a later one that has already been checked.
 */
async function readShareDays(trx: Database, { list, confirm }: AlertRule, until: string) {
  const rows = await readRows<{ run_date: string }>(trx, 'read_share_days', {
    until,
    list,
    limit: confirm + passedOver,
  })
  return rows.map(({ run_date: date }) => date).toReversed()
}

/**
 * Shares of some domains for a label on one day, as in analysis.share_of_voice; empty if no query of the label was
 * answered.
 */
export function readSharesOn(
  trx: Database,
  on: { readonly tag: string; readonly date: string; readonly domains: readonly string[] },
) {
  return readRows<ShareDay>(trx, 'read_shares_on', on)
}

/** Domain whose share of a label grew most between two days; empty if none grew. */
async function readGainers(
  trx: Database,
  between: { readonly tag: string; readonly before: string; readonly date: string },
) {
  const rows = await readRows<{ domain: string }>(trx, 'read_gainer', between)
  return rows.map(({ domain }) => domain)
}

/** Origin of a run's answers; null if it has none. */
async function readRunOrigin(trx: Database, run: number): Promise<string | null> {
  const newest = await trx
    .selectFrom('tasks')
    .innerJoin('searches', 'searches.id', 'tasks.search_id')
    .select('searches.origin')
    .where('tasks.run_id', '=', run)
    .where('searches.parse_error', 'is', null)
    .orderBy('searches.id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return newest?.origin ?? null
}
