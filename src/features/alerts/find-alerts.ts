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

/** Checks each finished run for alerts, in order of days. Returns early if another process is already checking. */
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
    // An error in the data of one night must not stop the worker or the check of later nights.
    await markChecked(db, run, null)
    return [`the rank alerts of run ${run.id} could not be evaluated: ${scrubbedReason(error)}`]
  }
}

async function check(trx: Database, run: UncheckedRun): Promise<readonly string[] | null> {
  if (!(await claimAlerts(trx))) return null
  const next = await nextUncheckedRun(trx)
  // Another process has already checked this run, so the caller continues with the next run.
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
  const found: AlertCheck = { raised: [], recovered: [] }
  const isShare = ({ what }: AlertRule) => what === 'share_fell'
  await checkQueries(trx, { run, rules: rules.filter((rule) => !isShare(rule)) }, found)
  await checkShares(trx, { run, rules: rules.filter(isShare) }, found)
  const { raised, recovered } = found
  for (const one of recovered) await recoverAlert(trx, one)
  await insertAlerts(trx, raised)
  const ended = recovered.length === 0 ? [] : [`${count(recovered.length, 'rank alert')} recovered`]
  if (raised.length === 0) return { lines: ended, summary: null }
  const summary = summarise(raised, { run, answered: await countAnswered(trx, run.id) })
  const { severity, headline } = summary
  const told = severity === 'high' ? [`rank alerts: ${headline}`] : linesOf(raised)
  return { lines: [...told, ...ended], summary }
}

/**
 * If at least this number and this share of queries drop in one night, the night itself should be checked before the
 * queries.
 */
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

/** Formats one line per rule, with the first alert of the rule and the number of its further alerts. */
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

/** Alerts that a run raised, and alerts that ended with the run. */
interface AlertCheck {
  readonly raised: NewAlert[]
  readonly recovered: Recovery[]
}

const chunkSize = 200
/** Maximum number of answers to skip between the answer before a change and the answers that confirm the change. */
const passedOver = 6
const first = '00000000-0000-0000-0000-000000000000'

async function checkQueries(
  trx: Database,
  { run, rules }: AlertOrder,
  { raised, recovered }: AlertCheck,
): Promise<void> {
  if (rules.length === 0) return
  const ours = await readOursOn(trx, run.run_date)
  for (let after = first; ;) {
    const next = { run: run.id, date: run.run_date, after, limit: chunkSize }
    const asked = await readRows<AskedQuery>(trx, 'read_asked_queries', next)
    const last = asked.at(-1)
    if (last === undefined) return
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
  // Reads one answer per day, oldest first: up to the day of the run, and of later days if these were checked already.
  const about = { queries, date: run.run_date, limit }
  const answers = await readRows<RankAnswer>(trx, 'read_rank_evidence', about)
  const evidence = new Map<string, RankAnswer[]>()
  for (const one of answers) {
    evidence.set(one.query_id, [...(evidence.get(one.query_id) ?? []), one])
  }
  const known = await readKnownAlerts(trx, queries)
  // The answers before and after the change of each open alert.
  const standIns = known
    .flatMap((one) => (one.recovered_run_date === null ? [one.base_search_id, one.search_id] : []))
    .filter((id) => id !== null)
  const based = await readRows<ShownAnswer>(trx, 'read_alert_answers', { searches: standIns })
  const kept = new Map(based.map((one) => [one.search_id, one]))
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
  // Only answers of the same origin and the same API are comparable.
  const series = all.filter(({ origin, api }) => origin === now.origin && api === now.api)
  const around = { query, ours: facts.ours, answers: series, places: facts.places }
  for (const [key, subject] of subjectsOf(rule, around, facts.known)) {
    const known = facts.known.find((one) => one.rule === rule.name && one.subject === key)
    const see = (answer: ShownAnswer) => measure(around, subject, answer)
    const seen = (search: number | null) => {
      const answer = facts.kept.get(search ?? 0)
      return answer === undefined ? undefined : see(answer)
    }
    const evidence = [seen(known?.base_search_id ?? null), seen(known?.search_id ?? null)] as const
    const step = nextStep(rule, { known, evidence, see, series })
    if (step === null) continue
    if (step.kind === 'raise') {
      const { base, way } = step
      const measurements = { base: see(base), now: see(now) }
      into.found.push({ rule, query, key, subject, way, base, now, measurements })
    } else {
      const end = {
        recovered_run_id: now.run_id,
        recovered_run_date: now.run_date,
        recovered_search_id: now.search_id,
        recovered_position: see(now).position,
      }
      into.recovered.push({ id: step.id, end })
    }
  }
}

/** Answers to a query, or shares of a domain, that a rule compares with each other. */
interface WatchedSeries<T> {
  /** Newest alert of the rule about the subject. */
  readonly known: KnownAlert | undefined
  /** Evidence of the known alert: the answers before and after the change. */
  readonly evidence: readonly [base: Measurement | undefined, raised: Measurement | undefined]
  /** Answers or days, oldest first. */
  readonly series: readonly T[]
  readonly see: (one: T) => Measurement
}

/**
 * Decides whether a subject's alert is raised or ends, and which answer or day causes this; null if nothing changes.
 */
function nextStep<T extends { readonly run_date: string }>(
  rule: AlertRule,
  { known, evidence: [base, raised], series, see }: WatchedSeries<T>,
) {
  const fresh = series.filter(({ run_date: day }) => day >= (known?.recovered_run_date ?? ''))
  const now = fresh.at(-1)
  // Only a later answer may end an alert or start the next one. The newest answer can be older than the alert, because
  // the night of the alert may have lost its answers since then.
  if (now === undefined || (known !== undefined && now.run_date < known.run_date)) return null
  const open = known !== undefined && known.recovered_run_date === null ? known : null
  // Both measurements normally exist, because the answers of an open alert are not deleted.
  if (open !== null && (base === undefined || raised === undefined)) return null
  const standing =
    open === null || base === undefined || raised === undefined
      ? null
      : { base, raised, way: open.direction }
  const step = decideAlert(rule, fresh.map(see), standing)
  if (step.kind === 'recover') return open === null ? null : { kind: step.kind, id: open.id, now }
  const before = step.kind === 'raise' ? fresh[step.base] : undefined
  if (step.kind === 'none' || before === undefined) return null
  return { kind: step.kind, base: before, way: step.way, now }
}

/** Checks the shares of domains across the queries of the rule's tag, of the rule's list, or across all queries. */
async function checkShares(
  trx: Database,
  { run, rules }: AlertOrder,
  into: AlertCheck,
): Promise<void> {
  const meant = rules.filter(({ list }) => list === null || list === run.list)
  const origin = meant.length === 0 ? null : await readRunOrigin(trx, run.id)
  if (origin === null) return
  // Restricts this transaction to answers of one origin.
  await prepareReading(trx, { origins: origin })
  const known = await readKnownAlerts(trx, 'shares')
  const ours = await readOursOn(trx, run.run_date)
  for (const rule of meant) {
    const domains = domainsFor(rule, ours)
    const mine = known.filter((one) => one.rule === rule.name)
    await checkRule(trx, { rule, run, origin, known: mine, domains }, into)
  }
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
  { raised, recovered }: AlertCheck,
): Promise<void> {
  const tag = rule.list === null ? (rule.tag ?? anybody) : `list=${rule.list}`
  const days = await readShareDays(trx, rule, run.run_date)
  const standIns = known.flatMap((one) =>
    one.recovered_run_date === null ? [one.base_run_date, one.run_date] : [],
  )
  const shares = await readShares(trx, [...days, ...standIns], { tag, domains })
  for (const domain of domains) {
    const subject = `${tag} ${domain} ${origin}`
    const last = known.find((one) => one.subject === subject)
    const dayOf = (date: string) => shares.get(date)?.find((one) => one.domain === domain)
    const seen = (date = '') => {
      const day = dayOf(date)
      return day === undefined ? undefined : measureDay(day)
    }
    const evidence = [seen(last?.base_run_date), seen(last?.run_date)] as const
    const series = days.map(dayOf).filter((day) => day !== undefined)
    const step = nextStep(rule, { known: last, evidence, series, see: measureDay })
    // Only a share of the run's day or of a later day counts. The run's day may have no share yet, because other runs
    // of that day are open or no query with the tag was answered. Then the check after the last run of the day decides.
    if (step === null || step.now.run_date < run.run_date) continue
    const { now } = step
    if (step.kind === 'recover') {
      const end = { recovered_run_date: now.run_date, recovered_share: now.share }
      recovered.push({ id: step.id, end: { recovered_run_id: run.id, ...end } })
      continue
    }
    const between = { before: step.base.run_date, tag, date: now.run_date }
    // Finds the domain whose share grew most.
    const [gainer] = await readRows<{ domain: string }>(trx, 'read_gainer', between)
    const other = gainer?.domain ?? null
    const told = {
      ...{ domain, tag, other, origin, baseDate: step.base.run_date, date: now.run_date },
      ...{ before: step.base.share, now: now.share },
    }
    raised.push({
      ...{ rule: rule.name, what: rule.what, subject, list: run.list, tag },
      ...{ domain, other_domain: other, origin },
      ...{ base_run_date: step.base.run_date, previous_share: step.base.share },
      ...{ run_id: run.id, run_date: now.run_date, share: now.share },
      ...{ said: shareSentence(told), question: shareQuestion(told) },
    })
  }
}

/** Reads the shares of some domains across the queries of a tag, by day. */
async function readShares(
  trx: Database,
  dates: readonly string[],
  about: { readonly tag: string; readonly domains: readonly string[] },
) {
  const shares = new Map<string, readonly ShareDay[]>()
  // Each day is read separately, because a constant date restricts the view to the rows of that day.
  for (const date of new Set(dates)) {
    shares.set(date, await readSharesOn(trx, { ...about, date }))
  }
  return shares
}

function measureDay({ share, queries, depth }: ShareDay): Measurement {
  return { position: null, depth, rival: null, flag: null, share, queries }
}

/** Share of voice of a domain on a day, with the number of queries behind the share. */
interface ShareDay {
  readonly run_date: string
  readonly domain: string
  readonly share: number
  readonly queries: number
  readonly depth: number
}

/**
 * Reads the newest days with runs of a rule's list, or of any list, oldest first. On these days, all runs were judged
 * and no run is suspect. The last day is the given day, or a later day that was checked already.
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
 * Reads the shares of some domains across the queries of a tag on one day, as in `analysis.share_of_voice`. The result
 * is empty if no query with the tag was answered.
 */
export function readSharesOn(
  trx: Database,
  on: { readonly tag: string; readonly date: string; readonly domains: readonly string[] },
) {
  return readRows<ShareDay>(trx, 'read_shares_on', on)
}

/** Reads the origin of a run's answers; null if the run has no answer. */
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
