// Checks the answers of a run for changes watched by rules.

import type { Database } from '../../base/database/database.ts'
import { readOursOn } from '../analysis/domains.ts'
import {
  concerns,
  decideAlert,
  domainsOf,
  type FoundChange,
  type Measurement,
  measure,
  putIntoWords,
  subjectsOf,
} from './changes.ts'
import {
  type AskedQuery,
  type RankAnswer,
  readAnswersById,
  readAsked,
  readEvidence,
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

export interface AlertOrder {
  readonly run: UncheckedRun
  readonly rules: readonly AlertRule[]
}

export interface AlertCheck {
  readonly raised: readonly NewAlert[]
  readonly recovered: readonly Recovery[]
}

const chunkSize = 200
/** Maximum number of answers to skip between the answer before a change and those that confirm the change. */
export const passedOver = 6
const first = '00000000-0000-0000-0000-000000000000'

export async function checkQueries(trx: Database, { run, rules }: AlertOrder): Promise<AlertCheck> {
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
