// Checks shares of voice after a run for changes watched by rules.

import type { Database } from '../../base/database/database.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { prepareReading } from '../../base/database/views.ts'
import { readOursOn } from '../analysis/domains.ts'
import {
  anybody,
  decideAlert,
  domainsFor,
  shareQuestion,
  shareSentence,
  type Measurement,
} from './changes.ts'
import { type AlertCheck, type AlertOrder, passedOver } from './queries.ts'
import {
  type AlertRule,
  type KnownAlert,
  type NewAlert,
  readKnownAlerts,
  type Recovery,
} from './statements.ts'

/** Checks the shares for the rule's label, for its list, or for all queries. */
export async function checkShares(trx: Database, { run, rules }: AlertOrder): Promise<AlertCheck> {
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
