// Deletes texts outside of answers, and unused dictionary entries.

import type { Database } from '../../base/database/database.ts'
import { dictionaries, type DictionaryTable, dictionaryTables } from '../../base/database/facts.ts'
import { type RawBuilder, sql } from '../../base/database/kysely.ts'
import { only } from '../../base/database/sql-file.ts'
import { pause } from '../../base/waiting.ts'
import { aloneIn } from './list.ts'
import { addRows, type DeletedRows, tally } from './naming.ts'

/** Replaces a text that must not be empty. */
const blank = '(forgotten)'

/** Selects texts written by programs and people. */
export interface WantedTexts {
  /** Case-insensitive Postgres regular expression; null if no text can be matched reliably. */
  readonly pattern: string | null
  /** List being forgotten. */
  readonly list: { readonly id: number; readonly name: string } | null
  /** Queries being forgotten; null: none. */
  readonly queries: RawBuilder<{ query_id: string }> | null
  /** True for a domain, which may also occur in list lines and domain lines. */
  readonly domain: boolean
}

/** A cleared notice, which is not sent. */
const untold = sql`
  said = ${blank}, fields = '{}', problem = null,
  given_up_at = case when told_at is null then coalesce(given_up_at, clock_timestamp()) else given_up_at end`

interface Place {
  readonly table: string
  readonly where: RawBuilder<boolean>
  /** Assignments; null to delete the row. */
  readonly set: RawBuilder<unknown> | null
}

/** All places outside of answers that contain texts of people and programs. */
function placesOf(wanted: WantedTexts): readonly Place[] {
  const { list, domain, pattern, queries } = wanted
  const alerts = queries === null ? [] : [aboutQueries(queries)]
  if (pattern === null) return alerts
  // A list's name may be any word, so only texts about lists are searched.
  if (list !== null) return [...alerts, ...toldOfNights(pattern), ...ofList(list)]
  return [...toldOfNights(pattern), ...toldOfAnswers(pattern), ...(domain ? ofDomain(pattern) : [])]
}

function aboutQueries(queries: RawBuilder<{ query_id: string }>): Place {
  return { table: 'alerts', where: sql<boolean>`query_id in (${queries})`, set: null }
}

/** Texts that may mention lists, queries and domains. */
function toldOfNights(pattern: string): readonly Place[] {
  return [
    {
      table: 'notices',
      where: sql<boolean>`concat_ws(' ', subject, said, fields::text, problem) ~* ${pattern}`,
      set: sql`
        subject = case when subject ~* ${pattern} then 'forgotten ' || id else subject end,
        ${untold}`,
    },
    { table: 'nights', where: sql<boolean>`note ~* ${pattern}`, set: sql`note = ${blank}` },
    ...['quarantine', 'trust_marks'].map((table) => ({
      table,
      where: sql<boolean>`reason ~* ${pattern}`,
      set: sql`reason = ${blank}`,
    })),
    {
      table: 'notes.annotations',
      where: sql<boolean>`concat_ws(' ', text, tag) ~* ${pattern}`,
      set: sql`text = ${blank}, tag = case when tag ~* ${pattern} then '*' else tag end`,
    },
  ]
}

/** Texts that may mention queries and domains. */
function toldOfAnswers(pattern: string): readonly Place[] {
  const says = (text: RawBuilder<unknown>) => sql<boolean>`${text} ~* ${pattern}`
  return [
    {
      table: 'alerts',
      where: says(
        sql`concat_ws(' ', rule, subject, list, tag, domain, other_domain, feature, said, question)`,
      ),
      set: null,
    },
    { table: 'stops', where: says(sql`detail`), set: sql`detail = ${blank}` },
    {
      table: 'rejected_lines',
      where: says(sql`concat_ws(' ', content, reason)`),
      set: sql`content = '', reason = ${blank}`,
    },
    { table: 'cadences', where: says(sql`why`), set: sql`why = ${blank}` },
    { table: 'tasks', where: says(sql`error_message`), set: sql`error_message = ${blank}` },
    { table: 'calls', where: says(sql`error_message`), set: sql`error_message = ${blank}` },
    { table: 'searches', where: says(sql`parse_error`), set: sql`parse_error = ${blank}` },
  ]
}

/** Rows about a list, by name or id. */
function ofList({ id, name }: { readonly id: number; readonly name: string }): readonly Place[] {
  const runs = sql`(select runs.id from runs where runs.list_id = ${id})`
  const schedules = sql`(select schedules.name from schedules where schedules.list = ${name})`
  const label = `list=${name}`
  return [
    {
      table: 'notices',
      where: sql<boolean>`
        kind like 'rank%'
        and exists (
          select
          from (${aloneIn(id)}) as alone
          join queries on queries.id = alone.query_id
          where strpos(said || fields::text, queries.q) > 0
        )`,
      set: untold,
    },
    {
      table: 'rejected_lines',
      where: sql<boolean>`run_id in ${runs}`,
      set: sql`content = '', reason = ${blank}`,
    },
    {
      table: 'alerts',
      where: sql<boolean>`list = ${name} or tag = ${label} or run_id in ${runs}`,
      set: null,
    },
    { table: 'alert_rules', where: sql<boolean>`list = ${name} or tag = ${label}`, set: null },
    { table: 'notes.annotations', where: sql<boolean>`tag = ${label}`, set: null },
    {
      table: 'nights',
      where: sql<boolean>`run_id in ${runs} or schedule in ${schedules}`,
      set: null,
    },
    {
      table: 'forecast_steps',
      where: sql<boolean>`list = ${name} or name in ${schedules}`,
      set: null,
    },
    { table: 'schedules', where: sql<boolean>`list = ${name}`, set: null },
  ]
}

/** Rows of lists, rules and domain tables about a domain. */
function ofDomain(pattern: string): readonly Place[] {
  const sayings = ['list_queries', 'list_query_history'].map((table) => ({
    table,
    where: sql<boolean>`concat_ws(' ', target_url, array_to_string(tags, ' ')) ~* ${pattern}`,
    set: sql`
      target_url = case when target_url ~* ${pattern} then null else target_url end,
      tags = array(select tag from unnest(tags) as tag where tag !~* ${pattern})`,
  }))
  const ours = ['own_domains', 'rival_domains', 'own_domain_changes'].map((table) => ({
    table,
    where: sql<boolean>`concat_ws(' ', domain, label, brand) ~* ${pattern}`,
    set: null,
  }))
  const rules = {
    table: 'alert_rules',
    where: sql<boolean>`concat_ws(' ', name, domain, rival) ~* ${pattern}`,
    set: null,
  }
  return [...sayings, ...ours, rules]
}

/**
 * Counts or applies the changes outside of answers. Rows that triggers store about changed lines are deleted
 * afterwards.
 */
export async function forgetTexts(
  db: Database,
  wanted: WantedTexts,
  { keep }: { readonly keep: boolean },
): Promise<DeletedRows> {
  const places = placesOf(wanted)
  if (keep) return countPlaces(db, places)
  let gone: DeletedRows = {}
  for (const { table, where, set } of places) {
    gone = addRows(gone, { [table]: await tally(changeOf(table, where, set).execute(db)) })
  }
  return gone
}

function changeOf(table: string, where: RawBuilder<boolean>, set: Place['set']) {
  return set === null
    ? sql`delete from ${sql.table(table)} where ${where}`
    : sql`update ${sql.table(table)} set ${set} where ${where}`
}

/** Counts a row that matches for several reasons only once. */
async function countPlaces(db: Database, places: readonly Place[]): Promise<DeletedRows> {
  const gone: Record<string, number> = {}
  for (const table of new Set(places.map((place) => place.table))) {
    const reasons = places
      .filter((place) => place.table === table)
      .map(({ where }) => sql`(${where})`)
    const { rows } = await sql<{ rows: number }>`
      select count(*) as rows from ${sql.table(table)} where ${sql.join(reasons, sql` or `)}`.execute(
      db,
    )
    gone[table] = rows[0]?.rows ?? 0
  }
  return gone
}

const portion = 2000
const lookAgainMs = 20

/**
 * Deletes recorded dictionary entries that are no longer used. A worker may concurrently store an answer that refers to
 * such a row, which it saw and so did not insert. Therefore a deleted row is kept until all concurrent writers have
 * ended, and restored if it is used by then.
 */
export async function forgetWords(db: Database): Promise<DeletedRows> {
  const gone: Record<string, number> = {}
  // Hosts come last, because pages refer to them.
  const order = [...dictionaryTables.filter((kind) => kind !== 'domains'), 'domains'] as const
  for (const kind of order) {
    await sql`
      delete from forgetting_words w
      where w.kind = ${kind} and w.held is null and ${isNamed(kind)}`.execute(db)
    await takeOut(db, kind)
    await writersEnded(db)
    await putBack(db, kind)
    gone[kind] = await tally(
      sql`delete from forgetting_words where kind = ${kind} and held is not null`.execute(db),
    )
  }
  return gone
}

/** True for an entry `w` that an answer's row or a page refers to. */
function isNamed(kind: DictionaryTable): RawBuilder<boolean> {
  const places = dictionaries[kind].map(
    ([table, column]) => sql`
      w.id in (select ${sql.ref(column)} from ${sql.table(table)} where ${sql.ref(column)} is not null)`,
  )
  return sql<boolean>`(${sql.join(places, sql` or `)})`
}

async function takeOut(db: Database, kind: DictionaryTable): Promise<void> {
  for (;;) {
    const taken = await sql`
      with chosen as materialized (
        select id from forgetting_words where kind = ${kind} and held is null order by id limit ${portion}
      ),
      taken as (
        delete from ${sql.table(kind)} d using chosen where d.id = chosen.id returning d.id, to_jsonb(d) as held
      )
      update forgetting_words w
      set held = coalesce(taken.held, 'null')
      from chosen
      left join taken using (id)
      where w.kind = ${kind} and w.id = chosen.id`.execute(db)
    if (Number(taken.numAffectedRows ?? 0) < portion) return
  }
}

/** Waits for the end of all writing transactions that started before now. */
async function writersEnded(db: Database): Promise<void> {
  const { rows } = await sql<{ now: string }>`select pg_current_xact_id()::text as now`.execute(db)
  const { now } = only(rows)
  for (;;) {
    const { rows: looks } = await sql<{ ended: boolean }>`
      select pg_snapshot_xmin(pg_current_snapshot()) > ${now}::xid8 as ended`.execute(db)
    if (only(looks).ended) return
    await pause(lookAgainMs)
  }
}

async function putBack(db: Database, kind: DictionaryTable): Promise<void> {
  const { rows } = await sql<{ columns: readonly string[] }>`
    select array_agg(attname::text order by attnum) as columns
    from pg_attribute
    where attrelid = ${kind}::regclass and attnum > 0 and not attisdropped and attgenerated = ''`.execute(
    db,
  )
  const columns = sql.join(only(rows).columns.map((name) => sql.ref(name)))
  await sql`
    with named as (
      delete from forgetting_words w
      where w.kind = ${kind} and w.held is not null and ${isNamed(kind)}
      returning w.held
    )
    insert into ${sql.table(kind)} (${columns})
    select ${columns}
    from named
    cross join lateral jsonb_populate_record(null::${sql.table(kind)}, nullif(named.held, 'null'))
    where named.held <> 'null'
    order by id
    on conflict do nothing`.execute(db)
}
