// Checks the answers of a run for changes watched by rules.

import type { Database } from '../../base/database/database.ts'
import { readOursOn } from '../analysis/domains.ts'
import {
  concerns,
  decideAlert,
  domainsOf,
  type FoundChange,
  placesBySearch,
  putIntoWords,
  type SeenPlaces,
  type Measurement,
  measure,
  subjectsOf,
} from './changes.ts'
import {
  type AskedQuery,
  type RankAnswer,
  readAsked,
  readEvidence,
  readAnswersById,
  readPlaces,
  type ShownAnswer,
} from './evidence.ts'
import {
  type AlertRule,
  type KnownAlert,
  type NewAlert,
  readKnownAlerts,
  type Recovery,
  type UncheckedRun,
} from './statements.ts'

const chunkSize = 200
/** Maximum number of skipped answers between those that confirm a change and the one before it. */
const passedOver = 6
const first = '00000000-0000-0000-0000-000000000000'

export async function checkQueries(trx: Database, { run, rules }: AlertOrder): Promise<AlertCheck> {
  const raised: NewAlert[] = []
  const recovered: Recovery[] = []
  if (rules.length === 0) return { raised, recovered }
  const ours = await readOursOn(trx, run.run_date)
  const night = { run: run.id, date: run.run_date }
  for (let after = first; ;) {
    const asked = await readAsked(trx, night, { after, limit: chunkSize })
    const last = asked.at(-1)
    if (last === undefined) return { raised, recovered }
    const found = await checkSome(trx, { run, rules, ours, asked })
    raised.push(...found.raised)
    recovered.push(...found.recovered)
    after = last.query_id
  }
}

interface Some extends AlertOrder {
  readonly ours: readonly string[]
  readonly asked: readonly AskedQuery[]
}

interface Facts extends Some {
  readonly evidence: ReadonlyMap<string, readonly RankAnswer[]>
  readonly known: readonly KnownAlert[]
  /** Answers that active alerts are based on. */
  readonly kept: ReadonlyMap<number, ShownAnswer>
  readonly places: SeenPlaces
}

async function checkSome(trx: Database, some: Some): Promise<AlertCheck> {
  const facts = await readAround(trx, some)
  const found: FoundChange[] = []
  const recovered: Recovery[] = []
  for (const query of some.asked) {
    for (const rule of some.rules.filter((one) => concerns(one, query))) {
      judge(facts, { query, rule }, { found, recovered })
    }
  }
  return { raised: await putIntoWords(trx, facts, found), recovered }
}

async function readAround(trx: Database, some: Some): Promise<Facts> {
  const { rules, run, ours, asked } = some
  const ids = asked.map(({ query_id: id }) => id)
  const limit = Math.max(...rules.map(({ confirm }) => confirm)) + passedOver
  const rows = await readEvidence(trx, ids, { date: run.run_date, limit })
  const evidence = new Map<string, RankAnswer[]>()
  for (const one of rows) evidence.set(one.query_id, [...(evidence.get(one.query_id) ?? []), one])
  const known = await readKnownAlerts(trx, ids)
  const standIns = known
    .flatMap((one) => (one.recovered_run_date === null ? [one.base_search_id, one.search_id] : []))
    .filter((id) => id !== null)
  const kept = new Map((await readAnswersById(trx, standIns)).map((one) => [one.search_id, one]))
  const named = domainsOf(rules, ours)
  const told = [
    ...known,
    ...asked.map((one) => ({ domain: one.target_domain, other_domain: null })),
  ]
  const domains =
    named === null
      ? null
      : [
          ...named,
          ...told.flatMap((one) => [one.domain, one.other_domain]).filter((name) => name !== null),
        ]
  const searches = [...rows.map(({ search_id: id }) => id), ...standIns]
  const places = placesBySearch(await readPlaces(trx, searches, domains))
  return { ...some, evidence, known, kept, places }
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
    // Only a later answer may end an alert or start the next one, because a night may have lost its answers since.
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
      const { run_id: run, run_date: date, search_id: search } = now
      const { position } = see(now)
      into.recovered.push({
        ...{ id: known.id, run, run_date: date, search_id: search, position, share: null },
      })
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
  // Answers are not deleted while an alert is based on them.
  if (base === undefined || raised === undefined) return null
  return { base: see(base), raised: see(raised), way: known.direction }
}

export interface AlertOrder {
  readonly run: UncheckedRun
  readonly rules: readonly AlertRule[]
}

export interface AlertCheck {
  readonly raised: readonly NewAlert[]
  readonly recovered: readonly Recovery[]
}
