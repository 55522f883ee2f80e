import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { statement } from '../../base/database/sql-file.ts'

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
  const next = await db
    .selectFrom('night_health as health')
    .innerJoin('runs', 'runs.id', 'health.run_id')
    .innerJoin('lists', 'lists.id', 'runs.list_id')
    .select((eb) => [
      'runs.id',
      'lists.name as list',
      'runs.run_date',
      'runs.suspect',
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
  return next ?? null
}

/** Makes this transaction the one that looks for alerts; false: another one does. */
export async function claimAlerts(trx: Database): Promise<boolean> {
  const { rows } = await sql<{ mine: boolean }>`
    select pg_try_advisory_xact_lock(hashtext('querymill alerts')) as mine`.execute(trx)
  return rows[0]?.mine === true
}

/** How much the alerts of a night matter together. */
type Severity = 'low' | 'medium' | 'high'

/** The alerts of a night in one sentence. */
export interface Headline {
  readonly severity: Severity
  readonly headline: string
}

/** Notes that a run was looked at as it was judged; when it is judged again, it is looked at again. */
export async function markLooked(
  db: Database,
  { id, judged_at: judged }: UnlookedRun,
  summary: Headline | null,
): Promise<void> {
  await db
    .updateTable('night_health')
    .set((eb) => ({
      alerts_at: eb.fn<Date>('greatest', ['alerts_at', sql<Date>`${judged}::timestamptz`]),
      alerts_severity: summary?.severity ?? null,
      alerts_headline: summary?.headline ?? null,
    }))
    .where('run_id', '=', id)
    .execute()
}

/** Names of the rules that were in force when a run was judged. */
export async function rulesInForce(
  db: Database,
  { judged_at: judged }: UnlookedRun,
): Promise<ReadonlySet<string>> {
  const rules = await db
    .selectFrom('alert_rules')
    .select('name')
    .where('since', '<', sql<Date>`${judged}::timestamptz`)
    .execute()
  return new Set(rules.map(({ name }) => name))
}

/**
 * Takes back what stands on answers of a run that are not trusted, or on a share of a day that has such a run; gives how
 * many. What recovered by such answers stands again.
 */
export async function withdrawAlerts(
  trx: Database,
  { id: run, list, run_date: date, suspect }: UnlookedRun,
): Promise<number> {
  const doubted = trx.selectFrom('quarantine').select('search_id').where('run_id', '=', run)
  const withdrawn = await trx
    .updateTable('alerts')
    .set({
      withdrawn_at: sql<Date>`now()`,
      withdrawn_because: suspect
        ? `run ${run} turned out suspect`
        : `an answer of run ${run} is quarantined`,
    })
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
    .where('recovered_at', 'is', null)
    .where('withdrawn_at', 'is', null)
    .returning('id')
    .execute()
  await reviveAlerts(trx, { id: run, suspect })
  return withdrawn.length
}

/** What recovered by answers that are not trusted stands again, unless its rule has raised it anew. */
async function reviveAlerts(
  trx: Database,
  { id: run, suspect }: Pick<UnlookedRun, 'id' | 'suspect'>,
): Promise<void> {
  const doubted = trx.selectFrom('quarantine').select('search_id').where('run_id', '=', run)
  await trx
    .updateTable('alerts')
    .set({
      ...{ recovered_at: null, recovered_run_id: null, recovered_run_date: null },
      ...{ recovered_search_id: null, recovered_position: null, recovered_share: null },
    })
    .where((eb) =>
      suspect
        ? eb('recovered_run_id', '=', run)
        : eb.and([eb('recovered_run_id', '=', run), eb('recovered_search_id', 'in', doubted)]),
    )
    .where('withdrawn_at', 'is', null)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('alerts as newer')
            .whereRef('newer.rule', '=', 'alerts.rule')
            .whereRef('newer.subject', '=', 'alerts.subject')
            .whereRef('newer.id', '>', 'alerts.id')
            .where('newer.withdrawn_at', 'is', null),
        ),
      ),
    )
    .execute()
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
  return trx
    .selectFrom('alerts')
    .distinctOn(['rule', 'subject'])
    .select((eb) => [
      'id',
      'rule',
      'subject',
      'query_id',
      'domain',
      'other_domain',
      'feature',
      eb.ref('direction').$castTo<'up' | 'down' | null>().as('direction'),
      'base_search_id',
      'base_run_date',
      'search_id',
      'run_date',
      'recovered_run_date',
    ])
    .where((eb) =>
      about === 'shares'
        ? eb('query_id', 'is', null)
        : eb('query_id', '=', eb.fn.any(sql<string[]>`${[...about]}::uuid[]`)),
    )
    .where('withdrawn_at', 'is', null)
    .orderBy('rule')
    .orderBy('subject')
    .orderBy('id', 'desc')
    .execute()
}

/** Queries of a run that were answered, bought or reused. */
export async function countAnswered(trx: Database, run: number): Promise<number> {
  const { answered } = await trx
    .selectFrom('tasks')
    .select(({ fn }) => fn.countAll<number>().as('answered'))
    .where('run_id', '=', run)
    .where('state', 'in', ['answered', 'reused'])
    .executeTakeFirstOrThrow()
  return answered
}

/** Nights with alerts and what these say in one sentence, the newest first. */
export async function readHeadlines(db: Database, limit: number) {
  return db
    .selectFrom('night_health')
    .innerJoin('runs', 'runs.id', 'night_health.run_id')
    .innerJoin('lists', 'lists.id', 'runs.list_id')
    .select([
      ...(['runs.id as run', 'lists.name as list', 'runs.run_date'] as const),
      ...(['alerts_severity as severity', 'alerts_headline as headline'] as const),
    ])
    .where('alerts_headline', 'is not', null)
    .orderBy('runs.run_date', 'desc')
    .orderBy('runs.id', 'desc')
    .limit(limit)
    .execute()
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
  await trx
    .updateTable('alerts')
    .set({
      recovered_at: sql<Date>`now()`,
      recovered_run_id: run,
      recovered_run_date: date,
      recovered_search_id: search,
      recovered_position: position,
      recovered_share: share,
    })
    .where('id', '=', id)
    .where('recovered_at', 'is', null)
    .execute()
}

/** An alert with its evidence, as it stands. */
export interface AlertRow extends ToldAlert {
  readonly alert: string
  readonly what: string
  readonly state: 'standing' | 'recovered' | 'withdrawn'
  readonly direction: 'up' | 'down' | null
  readonly raised_at: Date
  readonly recovered_run_date: string | null
  readonly recovered_search_id: number | null
  readonly recovered_position: number | null
  readonly recovered_share: number | null
  readonly recovered_at: Date | null
  readonly withdrawn_at: Date | null
  readonly withdrawn_because: string | null
}

/** Which alerts are wanted; null: whichever. */
interface AlertFilter {
  readonly id: number | null
  readonly rule: string | null
  readonly standing: boolean
  readonly limit: number
}

const shownColumns = [
  'alerts.id',
  'alerts.rule as alert',
  'alerts.what',
  'alerts.said as text',
  'alerts.question',
  'alerts.list',
  'alerts.tag',
  'alerts.query_id',
  'alerts.domain',
  'alerts.other_domain',
  'alerts.feature',
  'alerts.origin',
  'alerts.previous_position',
  'alerts.position',
  'alerts.previous_share',
  'alerts.share',
  'alerts.base_search_id',
  'alerts.search_id',
  'alerts.base_run_date',
  'alerts.run_date',
  'alerts.run_id as run',
  'alerts.raised_at',
  'alerts.recovered_run_date',
  'alerts.recovered_search_id',
  'alerts.recovered_position',
  'alerts.recovered_share',
  'alerts.recovered_at',
  'alerts.withdrawn_at',
  'alerts.withdrawn_because',
] as const

/** The newest alerts first. */
export async function listAlerts(
  db: Database,
  { id, rule, standing, limit }: AlertFilter,
): Promise<readonly AlertRow[]> {
  return db
    .selectFrom('alerts')
    .select(shownColumns)
    .select((eb) => [
      eb.ref('direction').$castTo<'up' | 'down' | null>().as('direction'),
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
    .$if(id !== null, (alerts) => alerts.where('id', '=', id))
    .$if(rule !== null, (alerts) => alerts.where('rule', '=', rule))
    .$if(standing, (alerts) =>
      alerts.where('recovered_at', 'is', null).where('withdrawn_at', 'is', null),
    )
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** An alert as it is told, with both answers. */
interface ToldAlert {
  readonly id: number
  readonly text: string
  readonly question: string
  readonly list: string | null
  readonly tag: string | null
  readonly query_id: string | null
  readonly q: string | null
  readonly domain: string | null
  readonly other_domain: string | null
  readonly feature: string | null
  readonly direction: string | null
  readonly origin: string
  readonly run: number
  readonly previous_position: number | null
  readonly position: number | null
  readonly previous_share: number | null
  readonly share: number | null
  readonly base_search_id: number | null
  readonly search_id: number | null
  readonly base_run_date: string
  readonly run_date: string
}

/** The end of an alert, with the answer that shows it. */
export interface ToldRecovery extends Pick<
  ToldAlert,
  'id' | 'text' | 'question' | 'origin' | 'search_id' | 'position' | 'share'
> {
  readonly run_date: string | null
}

/** Something that happened and that no webhook has been sent for. */
export type News =
  | {
      readonly kind: 'run_finished'
      readonly subject: string
      readonly at: string
      readonly run: number
      readonly list: string
      readonly run_date: string
      readonly state: string
      readonly spent: number
      readonly tasks: Readonly<Record<string, number>>
    }
  | {
      readonly kind: 'run_suspect' | 'run_odd'
      readonly subject: string
      readonly at: string
      readonly run: number
      readonly list: string
      readonly run_date: string
      readonly reasons: readonly string[]
    }
  | {
      readonly kind: 'stop'
      readonly subject: string
      readonly at: string
      readonly account: string
      readonly reason: string
      readonly detail: string | null
      readonly until: string | null
    }
  | {
      readonly kind: 'night_missed' | 'night_skipped' | 'night_late' | 'night_failed'
      readonly subject: string
      readonly at: string
      readonly schedule: string
      readonly due_at: string
      readonly run_date: string
      readonly run: number | null
      readonly note: string | null
    }
  | {
      readonly kind: 'rank_alert'
      readonly subject: string
      readonly at: string
      /** The rule. */
      readonly alert: string
      readonly what: string
      /** How many it found in one look; the first twenty are told. */
      readonly found: number
      /** How much all alerts of the night matter together, and what they say in one sentence. */
      readonly severity?: Severity
      readonly headline?: string
      readonly alerts: readonly ToldAlert[]
    }
  | {
      readonly kind: 'rank_recovered'
      readonly subject: string
      readonly at: string
      readonly alert: string
      readonly what: string
      readonly found: number
      /** Why they were taken back; null: answers show that they are over. */
      readonly because: string | null
      readonly alerts: readonly ToldRecovery[]
    }

/**
 * Notes what happened since a time and was not noted yet, oldest first: of several processes that ask, each piece goes to
 * one. What is not of these kinds is left alone.
 */
export async function takeNews(
  db: Database,
  since: Date,
  kinds: readonly string[],
): Promise<readonly News[]> {
  const { rows } = await db.executeQuery(statement<{ fields: News }>('take_news', { since, kinds }))
  return rows.map(({ fields }) => fields)
}

/** Notes one piece of news that does not come from the tables; false when it was noted before. */
export async function takeNotice(db: Database, kind: string, subject: string): Promise<boolean> {
  const taken = await db
    .insertInto('notices')
    .values({ kind, subject })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  return taken !== undefined
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

/** One rule of what is to be told. */
export interface AlertRule {
  readonly name: string
  readonly what: (typeof alertKinds)[number]
  readonly threshold: number | null
  readonly direction: 'up' | 'down' | null
  /** Name of the list; null: all. */
  readonly list: string | null
  readonly tag: string | null
  /** `*` is any; null: ours, or whatever the rule is about. */
  readonly domain: string | null
  readonly rival: string | null
  readonly feature: string | null
  /** Answers running that have to show the change. */
  readonly confirm: number
}

/** The rules in force, in the order of their file. */
export async function readAlertRules(db: Database): Promise<readonly AlertRule[]> {
  return db
    .selectFrom('alert_rules')
    .select((eb) => [
      'name',
      eb.ref('what').$castTo<AlertRule['what']>().as('what'),
      'threshold',
      eb.ref('direction').$castTo<AlertRule['direction']>().as('direction'),
      'list',
      'tag',
      'domain',
      'rival',
      'feature',
      'confirm',
    ])
    .orderBy('line')
    .orderBy('name')
    .execute()
}

/** A rule that came, went or changed. */
interface RuleChange {
  readonly change: 'removed' | 'added'
  readonly name: string
}

/**
 * Puts rules in force in place of those before, all of them or none. One that stays as it was goes on; what one that went
 * or changed has raised is taken back.
 */
export async function replaceAlertRules(
  db: Database,
  rules: readonly AlertRule[],
): Promise<readonly RuleChange[]> {
  return db.transaction().execute(async (trx) => {
    await sql`lock table alert_rules in share row exclusive mode`.execute(trx)
    const before = await readAlertRules(trx)
    const removed = before.filter((rule) => !has(rules, rule)).map(({ name }) => name)
    const added = rules.filter((rule) => !has(before, rule))
    if (removed.length > 0) {
      await trx.deleteFrom('alert_rules').where('name', 'in', removed).execute()
      await trx
        .updateTable('alerts')
        .set({
          withdrawn_at: sql<Date>`now()`,
          withdrawn_because: 'its rule was changed or taken out',
        })
        .where('rule', 'in', removed)
        .where('recovered_at', 'is', null)
        .where('withdrawn_at', 'is', null)
        .execute()
    }
    if (added.length > 0) {
      const lines = added.map((rule) => ({ ...rule, line: 0 }))
      await trx.insertInto('alert_rules').values(lines).execute()
    }
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

function has(rules: readonly AlertRule[], sought: AlertRule): boolean {
  const cells = Object.entries(sought)
  return rules.some((rule) => {
    const others = new Map<string, unknown>(Object.entries(rule))
    return cells.every(([name, value]) => others.get(name) === value)
  })
}
