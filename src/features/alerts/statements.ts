// Stores and reads alerts and rules.

import { isDeepStrictEqual } from 'node:util'
import type { Database } from '../../base/database/database.ts'
import {
  type Insertable,
  type Selectable,
  sql,
  type Updateable,
} from '../../base/database/kysely.ts'
import { lockKey } from '../../base/database/lock.ts'
import type { AlertRules, Alerts } from '../../base/database/schema.ts'

export type UncheckedRun = NonNullable<Awaited<ReturnType<typeof nextUncheckedRun>>>

/** Returns the next run to check, in date order. Runs that were judged before any rule existed are skipped. */
export function nextUncheckedRun(db: Database) {
  return db
    .selectFrom('night_health as health')
    .innerJoin('runs', 'runs.id', 'health.run_id')
    .innerJoin('lists', 'lists.id', 'runs.list_id')
    .select((eb) => [
      'runs.id',
      'lists.name as list',
      'runs.run_date',
      'runs.suspect',
      // The time is read as text, because a Date would drop the microseconds.
      eb.cast<string>('health.judged_at', 'text').as('judged_at'),
    ])
    .where('health.judged_at', '>', (eb) =>
      eb.selectFrom('alert_rules').select(({ fn }) => fn.min('since').as('since')),
    )
    .where((eb) =>
      eb.or([
        eb('health.alerts_at', 'is', null),
        eb('health.alerts_at', '<', eb.ref('health.judged_at')),
      ]),
    )
    .whereRef('health.judged_at', '>=', 'runs.finished_at')
    .where('runs.state', 'in', ['done', 'cancelled'])
    .orderBy('runs.run_date')
    .orderBy('runs.id')
    .limit(1)
    .executeTakeFirst()
}

/** Takes the lock for checking alerts in this transaction; returns false if another transaction holds it. */
export async function claimAlerts(trx: Database): Promise<boolean> {
  const { mine } = await trx
    .selectNoFrom((eb) =>
      eb.fn<boolean>('pg_try_advisory_xact_lock', [lockKey(eb.val('querymill alerts'))]).as('mine'),
    )
    .executeTakeFirstOrThrow()
  return mine
}

export interface Headline {
  readonly severity: 'low' | 'medium' | 'high'
  readonly headline: string
}

/** Records that a run was checked. A run that is judged again must be checked again. */
export async function markChecked(
  db: Database,
  { id, judged_at: judged }: UncheckedRun,
  summary: Headline | null,
): Promise<void> {
  await db
    .updateTable('night_health')
    .set((eb) => ({
      alerts_at: eb.fn<Date>('greatest', [
        'alerts_at',
        eb.cast<Date>(eb.val(judged), 'timestamptz'),
      ]),
      alerts_severity: summary?.severity ?? null,
      alerts_headline: summary?.headline ?? null,
    }))
    .where('run_id', '=', id)
    .execute()
}

/** Withdraws alerts based on a run's untrusted answers or shares, and reopens alerts that such answers ended. */
export async function withdrawAlerts(
  trx: Database,
  { id: run, list, run_date: date, suspect }: UncheckedRun,
): Promise<number> {
  const doubted = trx.selectFrom('quarantine').select('search_id').where('run_id', '=', run)
  const why = suspect
    ? `run ${run} turned out to be suspect`
    : `an answer from run ${run} is quarantined`
  const withdrawn = await withdrawal(trx, why)
    .where((eb) =>
      suspect
        ? eb.or([
            eb('run_id', '=', run),
            eb('base_run_id', '=', run),
            eb.and([
              eb('query_id', 'is', null),
              eb.or([eb('base_run_date', '=', date), eb('run_date', '=', date)]),
              eb.or([eb('tag', 'not like', 'list=%'), eb('tag', '=', `list=${list}`)]),
            ]),
          ])
        : eb.or([eb('search_id', 'in', doubted), eb('base_search_id', 'in', doubted)]),
    )
    .returning('id')
    .execute()
  await trx
    .updateTable('alerts')
    .set({
      ...{ recovered_at: null, recovered_run_id: null, recovered_run_date: null },
      ...{ recovered_search_id: null, recovered_position: null, recovered_share: null },
    })
    .where('recovered_run_id', '=', run)
    .$if(!suspect, (some) => some.where('recovered_search_id', 'in', doubted))
    .where('withdrawn_at', 'is', null)
    .where((eb) => {
      const newer = eb
        .selectFrom('alerts as newer')
        .whereRef('newer.rule', '=', 'alerts.rule')
        .whereRef('newer.subject', '=', 'alerts.subject')
        .whereRef('newer.id', '>', 'alerts.id')
      return eb.not(eb.exists(newer.where('newer.withdrawn_at', 'is', null)))
    })
    .execute()
  return withdrawn.length
}

function withdrawal(trx: Database, why: string) {
  return trx
    .updateTable('alerts')
    .set((eb) => ({ withdrawn_at: eb.fn<Date>('now'), withdrawn_because: why }))
    .where('recovered_at', 'is', null)
    .where('withdrawn_at', 'is', null)
}

export type KnownAlert = Awaited<ReturnType<typeof readKnownAlerts>>[number]

/** Reads the newest alert for each rule and subject, about the given queries or about shares. */
export async function readKnownAlerts(trx: Database, about: readonly string[] | 'shares') {
  return trx
    .selectFrom('alerts')
    .distinctOn(['rule', 'subject'])
    .select(['id', 'rule', 'subject', 'query_id', 'domain', 'other_domain', 'feature'])
    .select(['base_search_id', 'base_run_date', 'search_id', 'run_date', 'recovered_run_date'])
    .select((eb) => eb.ref('direction').$castTo<'up' | 'down' | null>().as('direction'))
    .where((eb) =>
      about === 'shares'
        ? eb('query_id', 'is', null)
        : eb('query_id', '=', eb.fn.any(eb.val(about))),
    )
    .where('withdrawn_at', 'is', null)
    .orderBy('rule')
    .orderBy('subject')
    .orderBy('id', 'desc')
    .execute()
}

export async function readHeadlines(db: Database, limit: number) {
  return db
    .selectFrom('night_health')
    .innerJoin('runs', 'runs.id', 'night_health.run_id')
    .innerJoin('lists', 'lists.id', 'runs.list_id')
    .select(['runs.id as run', 'lists.name as list', 'runs.run_date'])
    .select(['alerts_severity as severity', 'alerts_headline as headline'])
    .where('alerts_headline', 'is not', null)
    .orderBy('runs.run_date', 'desc')
    .orderBy('runs.id', 'desc')
    .limit(limit)
    .execute()
}

export type NewAlert = Readonly<Insertable<Alerts>>

const insertedAtOnce = 1000

/** Inserts alerts. Skips an alert that is already open or that the same run has already raised. */
export async function insertAlerts(trx: Database, alerts: readonly NewAlert[]): Promise<void> {
  // A statement can have at most 65,535 parameters.
  for (let from = 0; from < alerts.length; from += insertedAtOnce) {
    await trx
      .insertInto('alerts')
      .values(alerts.slice(from, from + insertedAtOnce))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
}

/** The end of an alert, with its cause (run, day and answer) and the value measured in that answer. */
export type Recovery = Updateable<Alerts> & { readonly id: number }

export async function recoverAlert(trx: Database, { id, ...end }: Recovery): Promise<void> {
  await trx
    .updateTable('alerts')
    .set((eb) => ({ ...end, recovered_at: eb.fn<Date>('now') }))
    .where('id', '=', id)
    .where('recovered_at', 'is', null)
    .execute()
}

export type AlertRow = Awaited<ReturnType<typeof listAlerts>>[number]

/** Lists the newest alerts. A null filter does not restrict the alerts. */
export async function listAlerts(
  db: Database,
  filter: { id: number | null; rule: string | null; standing: boolean; limit: number },
) {
  const { id, rule, standing, limit } = filter

  const alerts = await db
    .selectFrom('alerts')
    .selectAll()
    .select((eb) => [
      eb
        .case()
        .when('withdrawn_at', 'is not', null)
        .then(sql.lit('withdrawn' as const))
        .when('recovered_at', 'is not', null)
        .then(sql.lit('recovered' as const))
        .else(sql.lit('standing' as const))
        .end()
        .as('state'),
      eb
        .selectFrom('queries')
        .select('queries.q')
        .whereRef('queries.id', '=', 'alerts.query_id')
        .as('q'),
    ])
    .$if(id !== null, (some) => some.where('id', '=', id))
    .$if(rule !== null, (some) => some.where('rule', '=', rule))
    .$if(standing, (some) =>
      some.where('recovered_at', 'is', null).where('withdrawn_at', 'is', null),
    )
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return alerts.map(({ rule: alert, said: text, run_id: run, ...facts }) => {
    return { ...facts, alert, text, run }
  })
}

export const alertKinds = [
  'entered',
  'left',
  'moved',
  'crossed',
  'share_fell',
  'rival_passed',
  'new_feature',
  'wrong_page',
] as const

export type AlertRule = Readonly<
  Omit<Selectable<AlertRules>, 'what' | 'direction' | 'line' | 'since'> & {
    what: (typeof alertKinds)[number]
    direction: 'up' | 'down' | null
  }
>

/** Reads the active rules, or only those that were active when a run was judged, in file order. */
export async function readAlertRules(db: Database, judged?: UncheckedRun['judged_at']) {
  return db
    .selectFrom('alert_rules')
    .select(['name', 'what', 'threshold', 'direction', 'list', 'tag', 'domain', 'rival', 'feature'])
    .select('confirm')
    .$narrowType<Pick<AlertRule, 'what' | 'direction'>>()
    .$if(judged !== undefined, (some) =>
      some.where((eb) => eb('since', '<', eb.cast<Date>(eb.val(judged), 'timestamptz'))),
    )
    .orderBy('line')
    .orderBy('name')
    .execute()
}

/** Replaces all active rules atomically. Alerts of removed or changed rules are withdrawn. */
export async function replaceAlertRules(db: Database, rules: readonly AlertRule[]) {
  return db.transaction().execute(async (trx) => {
    await sql`lock table alert_rules in share row exclusive mode`.execute(trx)
    const before = await readAlertRules(trx)
    const missingIn = (others: readonly AlertRule[]) => (rule: AlertRule) =>
      !others.some((one) => isDeepStrictEqual(one, rule))
    const removed = before.filter(missingIn(rules)).map(({ name }) => name)
    const added = rules.filter(missingIn(before))
    if (removed.length > 0) {
      await trx.deleteFrom('alert_rules').where('name', 'in', removed).execute()
      await withdrawal(trx, 'its rule was changed or removed')
        .where('rule', 'in', removed)
        .execute()
    }
    const lines = added.map((rule) => ({ ...rule, line: 0 }))
    if (lines.length > 0) await trx.insertInto('alert_rules').values(lines).execute()
    const names = rules.map(({ name }) => name)
    await trx
      .updateTable('alert_rules')
      .set((eb) => ({ line: sql<number>`array_position(${names}::text[], ${eb.ref('name')})` }))
      .execute()
    return [
      ...removed.map((name) => ({ change: 'removed' as const, name })),
      ...added.map(({ name }) => ({ change: 'added' as const, name })),
    ]
  })
}
