// Closes and judges finished runs, and checks their answers and shares for the changes that rules watch for.

import { npmRun } from '../../base/cli/commands.ts'
import { count } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { countOf } from '../../base/database/kysely.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { troubleOf } from '../../base/database/trouble.ts'
import { prepareReading } from '../../base/database/views.ts'
import { groupBy } from '../../base/query.ts'
import { scrubbedReason } from '../../base/secret.ts'
import { type AfterRuns, besideWork } from '../../core/nights/after-runs.ts'
import { endRuns } from '../../core/nights/judge.ts'
import { readOursOn } from '../analysis/domains.ts'
import {
  anybody,
  type AskedQuery,
  concerns,
  decideAlert,
  describeShare,
  domainsFor,
  domainsOf,
  type FoundChange,
  measure,
  type Measurement,
  putIntoWords,
  type RankAnswer,
  readPlaces,
  type ShownAnswer,
  subjectsOf,
} from './changes.ts'
import {
  type AlertRule,
  claimAlerts,
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
  type UncheckedRun,
  withdrawAlerts,
} from './statements.ts'

export const endNights: AfterRuns = async (mill, report) => {
  await endRuns(mill.db, { report })
  if ((await nextUncheckedRun(mill.db)) === undefined) return
  await besideWork(mill, async (db) => {
    for (;;) {
      const run = await nextUncheckedRun(db)
      const lines = run === undefined ? null : await tryCheck(db, run)
      if (lines === null) return
      for (const line of lines) report(line)
    }
  })
}

/** Checks a run; returns the lines to print, or null if another process is already checking. */
async function tryCheck(db: Database, run: UncheckedRun): Promise<readonly string[] | null> {
  try {
    return await db.transaction().execute((trx) => checkNext(trx, run))
  } catch (error) {
    if (troubleOf(error) !== 'data') throw error
    // An error in one night's data must not stop the worker or the checks of later nights.
    await markChecked(db, run, null)
    return [`the rank alerts of run ${run.id} could not be evaluated: ${scrubbedReason(error)}`]
  }
}

async function checkNext(trx: Database, run: UncheckedRun): Promise<readonly string[] | null> {
  if (!(await claimAlerts(trx))) return null
  const next = await nextUncheckedRun(trx)
  // Another process has already checked this run, so the caller continues with the next run.
  if (next?.id !== run.id || next.judged_at !== run.judged_at) return []
  const back = await withdrawAlerts(trx, run)
  const why = run.suspect ? `run ${run.id} is suspect` : `answers of run ${run.id} are quarantined`
  const taken = back === 0 ? [] : [`${count(back, 'rank alert')} withdrawn: ${why}`]
  const { lines, summary } = run.suspect ? { lines: [], summary: null } : await checkRun(trx, run)
  await markChecked(trx, run, summary)
  return [...taken, ...lines]
}

interface AlertCheck {
  readonly trx: Database
  readonly run: UncheckedRun
  readonly ours: readonly string[]
  readonly raised: NewAlert[]
  readonly recovered: Recovery[]
}

/** Returns the lines to print, and a one-sentence summary of the night's alerts. */
async function checkRun(trx: Database, run: UncheckedRun) {
  const rules = await readAlertRules(trx, run.judged_at)
  const ours = await readOursOn(trx, run.run_date)
  const check: AlertCheck = { trx, run, ours, raised: [], recovered: [] }
  const isShare = ({ what }: AlertRule) => what === 'share_fell'
  const [shares, others] = [rules.filter(isShare), rules.filter((rule) => !isShare(rule))]
  await checkQueries(check, others)
  await checkShares(check, shares)
  const { raised, recovered } = check
  for (const one of recovered) await recoverAlert(trx, one)
  await insertAlerts(trx, raised)
  const ended = recovered.length === 0 ? [] : [`${count(recovered.length, 'rank alert')} recovered`]
  if (raised.length === 0) return { lines: ended, summary: null }
  const tasks = trx.selectFrom('tasks').where('run_id', '=', run.id)
  const answered = await countOf(trx, tasks.where('state', 'in', ['answered', 'reused']))
  const summary = summarise(check, answered)
  const { severity, headline } = summary
  const told = severity === 'high' ? [`rank alerts: ${headline}`] : linesOf(raised)
  return { lines: [...told, ...ended], summary }
}

/** If at least this many queries and this share of all queries drop, the whole night is probably bad. */
const badNight = { queries: 5, share: 0.25 }

function summarise({ raised, run }: AlertCheck, answered: number): Headline {
  const queriesOf = (alerts: readonly NewAlert[]) =>
    new Set(alerts.flatMap(({ query_id: query }) => query ?? [])).size
  const dropped = queriesOf(raised.filter(isDrop))
  const share = answered === 0 ? 0 : dropped / answered
  const what = `${dropped} of ${count(answered, 'keyword')} dropped, ${queriesOf(raised)} with an alert`
  const headline = `${what} (${run.list}, ${run.run_date})`
  if (dropped >= badNight.queries && share >= badNight.share) {
    const undo = `${npmRun('trust --')} distrust --run ${run.id} --because "..."`
    return {
      severity: 'high',
      headline: `${headline}; if the night's answers look unreliable, run: ${undo}`,
    }
  }
  const shareFell = raised.some(({ what: kind }) => kind === 'share_fell')
  return { severity: share >= 0.05 || shareFell ? 'medium' : 'low', headline }
}

function isDrop({ what, direction }: NewAlert): boolean {
  return direction === 'down' || ['left', 'rival_passed', 'wrong_page'].includes(what)
}

function linesOf(raised: readonly NewAlert[]): readonly string[] {
  return [...groupBy(raised, ({ rule }) => rule)].map(([rule, same]) => {
    const more = same.length === 1 ? '' : `, and ${same.length - 1} more: ${npmRun('alerts')}`
    return `rank alert ${rule}: ${same[0]?.said}${more}`
  })
}

const chunkSize = 200
/** Maximum number of answers to skip between the answer before a change and the answers that confirm the change. */
const passedOver = 6
const first = '00000000-0000-0000-0000-000000000000'

async function checkQueries(check: AlertCheck, rules: readonly AlertRule[]): Promise<void> {
  if (rules.length === 0) return
  const { trx, run } = check
  for (let after = first; ;) {
    const next = { run: run.id, date: run.run_date, after, limit: chunkSize }
    const asked = await readRows<AskedQuery>(trx, 'read_asked_queries', next)
    const last = asked.at(-1)
    if (last === undefined) return
    const facts = await readFacts(check, rules, asked)
    const found = asked.flatMap((query) =>
      rules
        .filter((rule) => concerns(rule, query))
        .flatMap((rule) => judge(check, facts, { query, rule })),
    )
    check.raised.push(...(await putIntoWords(trx, facts, found)))
    after = last.query_id
  }
}

type Facts = Awaited<ReturnType<typeof readFacts>>

async function readFacts(
  { trx, run, ours }: AlertCheck,
  rules: readonly AlertRule[],
  asked: readonly AskedQuery[],
) {
  const queries = asked.map(({ query_id: id }) => id)
  const limit = Math.max(...rules.map(({ confirm }) => confirm)) + passedOver
  // Reads one answer per day up to the run's day, and on later days that were already checked, oldest first.
  const about = { queries, date: run.run_date, limit }
  const answers = await readRows<RankAnswer>(trx, 'read_rank_evidence', about)
  const known = await readKnownAlerts(trx, queries)
  // Ids of the answers that each open alert compares.
  const standIns = known
    .flatMap((one) => (one.recovered_run_date === null ? [one.base_search_id, one.search_id] : []))
    .filter((id) => id !== null)
  const based = await readRows<ShownAnswer>(trx, 'read_alert_answers', { searches: standIns })
  const told = [
    ...known.flatMap((one) => [one.domain, one.other_domain]),
    ...asked.map((one) => one.target_domain),
  ]
  const named = domainsOf(rules, ours)
  const domains = named === null ? null : [...named, ...told.filter((name) => name !== null)]
  const searches = [...answers.map(({ search_id: id }) => id), ...standIns]
  return {
    run,
    evidence: groupBy(answers, (one) => one.query_id),
    known,
    kept: new Map(based.map((one) => [one.search_id, one])),
    places: await readPlaces(trx, searches, domains),
  }
}

/** Finds changes that a rule watches for in a query's answers, and records the alerts that ended. */
function judge(
  { ours, recovered }: AlertCheck,
  { evidence, known: alerts, kept, places }: Facts,
  { query, rule }: { readonly query: AskedQuery; readonly rule: AlertRule },
): FoundChange[] {
  const all = evidence.get(query.query_id) ?? []
  const now = all.at(-1)
  if (now === undefined) return []
  // Only answers with the same origin and from the same API are comparable.
  const series = all.filter(({ origin, api }) => origin === now.origin && api === now.api)
  const around = { query, ours, answers: series, places }
  return [...subjectsOf(rule, around, alerts)].flatMap(([key, subject]) => {
    const known = alerts.find((one) => one.rule === rule.name && one.subject === key)
    const see = (answer: ShownAnswer) => measure(around, subject, answer)
    const [base, raised] = [kept.get(known?.base_search_id ?? 0), kept.get(known?.search_id ?? 0)]
    const step = nextStep(rule, { known, base, raised, see, series })
    if (step?.kind === 'raise') {
      const measurements = { base: see(step.base), now: see(now) }
      return [{ rule, query, key, subject, way: step.way, base: step.base, now, measurements }]
    }
    if (step !== null) {
      recovered.push({
        id: step.id,
        ...{ recovered_run_id: now.run_id, recovered_run_date: now.run_date },
        ...{ recovered_search_id: now.search_id, recovered_position: see(now).position },
      })
    }
    return []
  })
}

/** Data that a rule compares over time: answers to a query, or a domain's shares. */
interface WatchedSeries<T extends S, S> {
  readonly known: KnownAlert | undefined
  /** Evidence for the known alert, before and after the change. */
  readonly base: S | undefined
  readonly raised: S | undefined
  /** Answers or daily shares, oldest first. */
  readonly series: readonly T[]
  readonly see: (one: S) => Measurement
}

/** Finds the answer or day that raises or ends a subject's alert; null if the alert does not change. */
function nextStep<T extends S & { readonly run_date: string }, S>(
  rule: AlertRule,
  { known, base, raised, series, see }: WatchedSeries<T, S>,
) {
  const fresh = series.filter(({ run_date: day }) => day >= (known?.recovered_run_date ?? ''))
  const now = fresh.at(-1)
  // Only a later answer may end an alert or start the next alert. The newest answer can be older than the alert,
  // because answers from the alert's night may be missing.
  if (now === undefined || (known !== undefined && now.run_date < known.run_date)) return null
  if (known !== undefined && known.recovered_run_date === null) {
    // Both answers normally exist, because an open alert's answers are not deleted.
    if (base === undefined || raised === undefined) return null
    const standing = { base: see(base), raised: see(raised), way: known.direction }
    const step = decideAlert(rule, fresh.map(see), standing)
    return step.kind === 'recover' ? { kind: step.kind, id: known.id, now } : null
  }
  const step = decideAlert(rule, fresh.map(see), null)
  const before = step.kind === 'raise' ? fresh[step.base] : undefined
  if (step.kind !== 'raise' || before === undefined) return null
  return { kind: step.kind, base: before, way: step.way, now }
}

/** Checks domain shares for a rule's tag, for a rule's list, or for all queries. */
async function checkShares(check: AlertCheck, rules: readonly AlertRule[]): Promise<void> {
  const { trx, run, ours } = check
  const meant = rules.filter(({ list }) => list === null || list === run.list)
  const origin = meant.length === 0 ? null : await readRunOrigin(trx, run.id)
  if (origin === null) return
  // Restricts this transaction to answers with one origin.
  await prepareReading(trx, { origins: origin })
  const known = await readKnownAlerts(trx, 'shares')
  for (const rule of meant) {
    const mine = known.filter((one) => one.rule === rule.name)
    await checkRule(check, { rule, origin, known: mine }, domainsFor(rule, ours))
  }
}

async function checkRule(
  { trx, run, raised, recovered }: AlertCheck,
  { rule, origin, known }: { rule: AlertRule; origin: string; known: readonly KnownAlert[] },
  domains: readonly string[],
): Promise<void> {
  const tag = rule.list === null ? (rule.tag ?? anybody) : `list=${rule.list}`
  const days = await readShareDays(trx, rule, run.run_date)
  const standIns = known.flatMap((one) =>
    one.recovered_run_date === null ? [one.base_run_date, one.run_date] : [],
  )
  const shares = new Map<string, readonly ShareDay[]>()
  // Each day is read separately: with a constant date, the view reads only that day's rows.
  for (const date of new Set([...days, ...standIns])) {
    shares.set(date, await readSharesOn(trx, { tag, domains, date }))
  }
  for (const domain of domains) {
    const subject = `${tag} ${domain} ${origin}`
    const last = known.find((one) => one.subject === subject)
    const dayOf = (date: string) => shares.get(date)?.find((one) => one.domain === domain)
    const series = days.map(dayOf).filter((day) => day !== undefined)
    const [base, shown] = [dayOf(last?.base_run_date ?? ''), dayOf(last?.run_date ?? '')]
    const step = nextStep(rule, { known: last, base, raised: shown, series, see: measureDay })
    // The run's day may not have a share yet, because a run is open or no query was answered. In that case, the
    // share is checked after the day's last run.
    if (step === null || step.now.run_date < run.run_date) continue
    const { run_date: date, share } = step.now
    if (step.kind === 'recover') {
      const end = { recovered_run_id: run.id, recovered_run_date: date, recovered_share: share }
      recovered.push({ id: step.id, ...end })
      continue
    }
    const { run_date: baseDate, share: before } = step.base
    const between = { before: baseDate, tag, date }
    const [gainer] = await readRows<{ domain: string }>(trx, 'read_gainer', between)
    const alert = {
      ...{ rule: rule.name, what: rule.what, subject, list: run.list, tag, domain, origin },
      ...{ other_domain: gainer?.domain ?? null, base_run_date: baseDate, previous_share: before },
      ...{ run_id: run.id, run_date: date, share },
    }
    raised.push({ ...alert, ...describeShare(alert) })
  }
}

function measureDay({ share, queries, depth }: ShareDay): Measurement {
  return { position: null, depth, rival: null, flag: null, share, queries }
}

/** A domain's share of voice on a day, with the number of queries that it is based on. */
interface ShareDay {
  readonly run_date: string
  readonly domain: string
  readonly share: number
  readonly queries: number
  readonly depth: number
}

/** Reads the newest days on which all runs of the rule's list were judged and none is suspect, oldest first. */
async function readShareDays(trx: Database, { list, confirm }: AlertRule, until: string) {
  const newest = { until, list, limit: confirm + passedOver }
  const rows = await readRows<{ run_date: string }>(trx, 'read_share_days', newest)
  return rows.map(({ run_date: date }) => date).toReversed()
}

/** Computes shares in the same way as `analysis.share_of_voice`. The result is empty if no query with the tag was answered. */
export function readSharesOn(
  trx: Database,
  on: { readonly tag: string; readonly date: string; readonly domains: readonly string[] },
) {
  return readRows<ShareDay>(trx, 'read_shares_on', on)
}

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
