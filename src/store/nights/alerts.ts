import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

/** A run that was judged and after which nobody has looked for alerts yet. */
export interface UnlookedRun {
  readonly id: number
  readonly list: string
  readonly run_date: string
  readonly suspect: boolean
  /** To the microsecond, which a Date would lose. */
  readonly judged_at: string
}

/** The next run to look at, by its day; only those judged since there are rules. */
export async function nextUnlooked(db: Database): Promise<UnlookedRun | null> {
  const { rows } = await sql<UnlookedRun>`
    select runs.id, lists.name as list, runs.run_date, runs.suspect, health.judged_at::text as judged_at
    from night_health as health
    join runs on runs.id = health.run_id
    join lists on lists.id = runs.list_id
    where health.judged_at > (select min(since) from alert_rules)
      and (health.alerts_at is null or health.alerts_at < health.judged_at)
      and health.judged_at >= runs.finished_at
      and runs.state in ('done', 'cancelled')
    order by runs.run_date, runs.id
    limit 1`.execute(db)
  return rows[0] ?? null
}

/** Makes this transaction the one that looks for alerts; false: another one does. */
export async function claimAlerts(trx: Database): Promise<boolean> {
  const { rows } = await sql<{ mine: boolean }>`
    select pg_try_advisory_xact_lock(hashtext('querymill alerts')) as mine`.execute(trx)
  return rows[0]?.mine === true
}

/** Notes that a run was looked at as it was judged; when it is judged again, it is looked at again. */
export async function markLooked(
  db: Database,
  { id, judged_at: judged }: UnlookedRun,
): Promise<void> {
  await sql`
    update night_health
    set alerts_at = greatest(alerts_at, ${judged}::timestamptz)
    where run_id = ${id}`.execute(db)
}

/** Names of the rules that were in force when a run was judged. */
export async function rulesInForce(
  db: Database,
  { judged_at: judged }: UnlookedRun,
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ name: string }>`
    select name
    from alert_rules
    where since < ${judged}::timestamptz`.execute(db)
  return new Set(rows.map(({ name }) => name))
}

/** Takes back what stands on the answers of a run that has turned out suspect, or on a share of its day; gives how many. */
export async function withdrawAlerts(
  trx: Database,
  { id: run, list, run_date: date }: UnlookedRun,
): Promise<number> {
  const { rows } = await sql`
    update alerts
    set withdrawn_at = now(), withdrawn_because = ${`run ${run} turned out suspect`}
    where (
        run_id = ${run}
        or base_run_id = ${run}
        or (
          query_id is null
          and ${date}::date in (base_run_date, run_date)
          and (tag not like 'list=%' or tag = ${`list=${list}`})
        )
      )
      and recovered_at is null
      and withdrawn_at is null
    returning 1`.execute(trx)
  return rows.length
}

/** The newest alert of a rule about a subject that was not taken back. */
export interface KnownAlert {
  readonly id: number
  readonly rule: string
  readonly subject: string
  readonly query_id: string | null
  readonly domain: string | null
  readonly other_domain: string | null
  readonly feature: string | null
  readonly direction: 'up' | 'down' | null
  readonly base_search_id: number | null
  readonly base_run_date: string
  readonly search_id: number | null
  readonly run_date: string
  readonly recovered_run_date: string | null
}

/** What rules have raised about some queries, or about shares: the newest of each subject. */
export async function readKnownAlerts(
  trx: Database,
  about: readonly string[] | 'shares',
): Promise<readonly KnownAlert[]> {
  const which =
    about === 'shares' ? sql`query_id is null` : sql`query_id = any(${[...about]}::uuid[])`
  const { rows } = await sql<KnownAlert>`
    select distinct on (rule, subject)
      id, rule, subject, query_id, domain, other_domain, feature, direction, base_search_id, base_run_date,
      search_id, run_date, recovered_run_date
    from alerts
    where ${which}
      and withdrawn_at is null
    order by rule, subject, id desc`.execute(trx)
  return rows
}

/** An alert to be written down. */
export interface NewAlert {
  readonly rule: string
  readonly what: string
  readonly subject: string
  readonly list: string
  readonly tag: string | null
  readonly query_id: string | null
  readonly domain: string | null
  readonly other_domain: string | null
  readonly feature: string | null
  readonly direction: string | null
  readonly origin: string
  readonly base_run_id: number | null
  readonly base_run_date: string
  readonly base_search_id: number | null
  readonly previous_position: number | null
  readonly previous_share: number | null
  readonly run_id: number
  readonly run_date: string
  readonly search_id: number | null
  readonly position: number | null
  readonly share: number | null
  readonly said: string
  readonly question: string
}

const insertedAtOnce = 1000

/** Writes alerts down; one that stands already, or that the same run raised before, is left as it is. */
export async function insertAlerts(trx: Database, alerts: readonly NewAlert[]): Promise<void> {
  // A statement takes 65,535 values.
  for (let from = 0; from < alerts.length; from += insertedAtOnce) {
    await trx
      .insertInto('alerts')
      .values(alerts.slice(from, from + insertedAtOnce))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
}

/** The answer, or the day, that shows an alert to be over. */
export interface Recovery {
  readonly id: number
  readonly run: number
  readonly run_date: string
  readonly search_id: number | null
  readonly position: number | null
  readonly share: number | null
}

/** Ends an alert by the answer that shows it no more; one that has ended stays as it is. */
export async function recoverAlert(
  trx: Database,
  { id, run, run_date: date, search_id: search, position, share }: Recovery,
): Promise<void> {
  await sql`
    update alerts
    set recovered_at = now(),
      recovered_run_id = ${run},
      recovered_run_date = ${date},
      recovered_search_id = ${search},
      recovered_position = ${position},
      recovered_share = ${share}
    where id = ${id} and recovered_at is null`.execute(trx)
}
