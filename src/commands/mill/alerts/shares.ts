import { readOursOn } from '../../../store/analysis/domains.ts'
import type { Database } from '../../../store/database.ts'
import type { AlertRule } from '../../../store/nights/alert-rules.ts'
import {
  readKnownAlerts,
  type KnownAlert,
  type NewAlert,
  type Recovery,
} from '../../../store/nights/alerts.ts'
import {
  readRunOrigin,
  readShareDays,
  readGainer,
  readSharesOn,
  showOrigin,
  type ShareDay,
} from '../../../store/nights/alert-shares.ts'
import { shareQuestion, shareSentence } from './words.ts'
import type { AlertLook, AlertOrder } from './looking.ts'
import { decideAlert, type Sight } from './change.ts'
import { anybody, domainsFor } from './subjects.ts'

const passedOver = 6

/** What became of shares with a run: of the label that a rule names, of its list, or of every query. */
export async function lookAtShares(trx: Database, { run, rules }: AlertOrder): Promise<AlertLook> {
  const raised: NewAlert[] = []
  const recovered: Recovery[] = []
  const meant = rules.filter(({ list }) => list === null || list === run.list)
  const origin = meant.length === 0 ? null : await readRunOrigin(trx, run.id)
  if (origin === null) return { raised, recovered }
  await showOrigin(trx, origin)
  const known = await readKnownAlerts(trx, 'shares')
  const ours = await readOursOn(trx, run.run_date)
  for (const rule of meant) {
    const found = await lookAtRule(trx, {
      rule,
      run,
      origin,
      known,
      domains: domainsFor(rule, ours),
    })
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

async function lookAtRule(trx: Database, watch: Watch): Promise<AlertLook> {
  const { rule, run, origin, known, domains } = watch
  const tag = rule.list === null ? (rule.tag ?? anybody) : `list=${rule.list}`
  const mine = known.filter((one) => one.rule === rule.name)
  const limit = rule.confirm + passedOver
  const days = await readShareDays(trx, rule.list, { until: run.run_date, limit })
  const rests = mine.flatMap((one) =>
    one.recovered_run_date === null ? [one.base_run_date, one.run_date] : [],
  )
  const shares = new Map<string, readonly ShareDay[]>()
  // Day by day: a date that is known keeps the view to that day.
  for (const date of new Set([...days, ...rests])) {
    shares.set(date, await readSharesOn(trx, { tag, date }, domains))
  }
  const raised: NewAlert[] = []
  const recovered: Recovery[] = []
  for (const domain of domains) {
    const subject = `${tag} ${domain} ${origin}`
    const last = mine.find((one) => one.subject === subject)
    const dayOf = (date: string) => shares.get(date)?.find((one) => one.domain === domain)
    const found = judgeShare(rule, { days, dayOf, last, until: run.run_date })
    if (found === null) continue
    const { now, before } = found
    if (before === null && last !== undefined) {
      const { run_date: date, share } = now
      const end = { id: last.id, run: run.id, run_date: date, search_id: null, position: null }
      recovered.push({ ...end, share })
    }
    if (before === null) continue
    raised.push(await describeShare(trx, { rule, run, tag, subject, origin, before, now }))
  }
  return { raised, recovered }
}

interface ShareSeries {
  readonly days: readonly string[]
  readonly dayOf: (date: string) => ShareDay | undefined
  readonly last: KnownAlert | undefined
  readonly until: string
}

/** What becomes of one share: `before` is the day that it fell from, null where an alert is over. */
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
  // The day is not complete yet, or nothing of the label was asked: whoever comes last looks.
  if (now === undefined || now.run_date < until) return null
  if (last !== undefined && now.run_date < last.run_date) return null
  const stands = last !== undefined && last.recovered_run_date === null
  const base = stands ? dayOf(last.base_run_date) : undefined
  const mark = stands ? dayOf(last.run_date) : undefined
  if (stands && (base === undefined || mark === undefined)) return null
  const standing =
    base === undefined || mark === undefined
      ? null
      : { base: sightOfDay(base), raised: sightOfDay(mark), way: null }
  const step = decideAlert(rule, series.map(sightOfDay), standing)
  if (step.kind === 'recover') return { now, before: null }
  const before = step.kind === 'raise' ? series[step.base] : undefined
  return before === undefined ? null : { now, before }
}

function sightOfDay({ share, queries, depth }: ShareDay): Sight {
  return { position: null, depth, rival: null, flag: null, share, queries }
}

async function describeShare(
  trx: Database,
  facts: Pick<Watch, 'rule' | 'run' | 'origin'> & {
    readonly tag: string
    readonly subject: string
    readonly before: ShareDay
    readonly now: ShareDay
  },
): Promise<NewAlert> {
  const { rule, run, tag, subject, origin, before, now } = facts
  const days = { before: before.run_date, date: now.run_date }
  const other = await readGainer(trx, { tag, ...days })
  const { domain } = now
  const told = {
    ...{ domain, tag, other, origin, baseDate: days.before, date: days.date },
    ...{ before: before.share, now: now.share },
  }
  return {
    ...{ rule: rule.name, what: rule.what, subject, list: run.list, tag },
    ...{ query_id: null, domain, other_domain: other, feature: null, direction: null, origin },
    ...{ base_run_id: null, base_run_date: before.run_date, base_search_id: null },
    ...{ previous_position: null, previous_share: before.share },
    ...{ run_id: run.id, run_date: now.run_date, search_id: null },
    ...{ position: null, share: now.share },
    ...{ said: shareSentence(told), question: shareQuestion(told) },
  }
}
