import { sql, type Kysely } from 'kysely'
import type { Query } from '../query.ts'
import type { Database } from './database.ts'
import type { DB } from './schema.ts'

/** One query of a list as it is written down, before equal ones are merged. */
export interface StagedQuery {
  readonly line: number
  readonly id: string
  readonly key: string
  readonly query: Query
  readonly priority: number
  readonly weight: number | null
  readonly target: string | null
  readonly tags: readonly string[]
  readonly given: string | null
}

export interface StagedRejection {
  readonly line: number
  readonly reason: string
  readonly content: string
}

/** A list on its way into the tables: it lives in temporary tables of one connection, and nobody else sees it. */
export interface Stage {
  readonly number: number
  add(queries: readonly StagedQuery[]): Promise<void>
  reject(lines: readonly StagedRejection[]): Promise<void>
  /** The members of a list as they were last read, instead of a file. */
  addMembers(list: number): Promise<number>
  drop(): Promise<void>
}

/** Stands between the values of a column: no text of a list holds it. */
const unit = '\u001f'
const group = '\u001d'

/** Runs a function on one connection of its own: temporary tables belong to a connection. */
export async function onConnection<T>(
  db: Database,
  work: (connection: Kysely<DB>) => Promise<T>,
): Promise<T> {
  return db.connection().execute(work)
}

/** Makes the temporary tables of one list. */
export async function openStage(connection: Kysely<DB>, number: number): Promise<Stage> {
  const staged = stagedName(number)
  const rejected = rejectedName(number)
  const drop = async (): Promise<void> => {
    await sql`drop table if exists ${staged}, ${rejected}`.execute(connection)
  }
  await drop()
  await sql`
    create temporary table ${staged} (
      ord integer generated always as identity,
      line integer not null,
      num integer not null,
      priority smallint not null,
      weight double precision,
      id uuid not null,
      key text not null,
      q text not null,
      location text,
      hl text,
      gl text,
      device text,
      target text,
      tags text,
      given text
    )`.execute(connection)
  await sql`
    create temporary table ${rejected} (
      line integer not null,
      reason text not null,
      content text not null
    )`.execute(connection)
  return {
    number,
    drop,
    add: async (queries) => addQueries(connection, number, queries),
    reject: async (lines) => addRejections(connection, number, lines),
    addMembers: async (list) => addMembers(connection, number, list),
  }
}

/** The temporary table of the queries of a list. */
export function stagedName(number: number) {
  return sql.id('pg_temp', `staged_${number}`)
}

/** The temporary table of the lines that gave none. */
export function rejectedName(number: number) {
  return sql.id('pg_temp', `staged_rejected_${number}`)
}

const chunk = 5000

async function addQueries(
  connection: Kysely<DB>,
  number: number,
  queries: readonly StagedQuery[],
): Promise<void> {
  for (let start = 0; start < queries.length; start += chunk) {
    await addSome(connection, number, queries.slice(start, start + chunk))
  }
}

/** Columns travel as one text each: the cheapest way through the driver by far. */
async function addSome(
  connection: Kysely<DB>,
  number: number,
  queries: readonly StagedQuery[],
): Promise<void> {
  const column = (read: (query: StagedQuery) => string | number | null) =>
    sql`string_to_array(${joined(queries, read)}, ${unit}, '')`
  await sql`
    insert into ${stagedName(number)}
      (line, id, key, q, location, hl, gl, num, device, priority, weight, target, tags, given)
    select
      line::integer, id::uuid, key, q, location, hl, gl, num::integer, device,
      priority::smallint, weight::double precision, target, tags, given
    from unnest(
      ${column(({ line }) => line)},
      ${column(({ id }) => id)},
      ${column(({ key }) => key)},
      ${column(({ query }) => query.q)},
      ${column(({ query }) => query.location)},
      ${column(({ query }) => query.hl)},
      ${column(({ query }) => query.gl)},
      ${column(({ query }) => query.num)},
      ${column(({ query }) => query.device)},
      ${column(({ priority }) => priority)},
      ${column(({ weight }) => weight)},
      ${column(({ target }) => target)},
      ${column(({ tags }) => (tags.length === 0 ? null : tags.join(group)))},
      ${column(({ given }) => given)}
    ) as rows
      (line, id, key, q, location, hl, gl, num, device, priority, weight, target, tags, given)
  `.execute(connection)
}

/** A column that is empty throughout is an empty text: unnest fills it with nulls. */
function joined<T>(rows: readonly T[], read: (row: T) => string | number | null): string {
  let text = ''
  let empty = true
  for (const [index, row] of rows.entries()) {
    const value = read(row)
    if (index > 0) text += unit
    if (value === null) continue
    empty = false
    text += value
  }
  return empty ? '' : text
}

async function addRejections(
  connection: Kysely<DB>,
  number: number,
  lines: readonly StagedRejection[],
): Promise<void> {
  for (let start = 0; start < lines.length; start += chunk) {
    const some = JSON.stringify(lines.slice(start, start + chunk))
    await sql`
      insert into ${rejectedName(number)} (line, reason, content)
      select line, reason, content
      from jsonb_to_recordset(${some}::jsonb) as rows (line integer, reason text, content text)
    `.execute(connection)
  }
}

async function addMembers(connection: Kysely<DB>, number: number, list: number): Promise<number> {
  const { numAffectedRows } = await sql`
    insert into ${stagedName(number)}
      (line, id, key, q, location, hl, gl, num, device, priority, weight, target, tags, given)
    select
      row_number() over (order by member.priority, member.query_id), query.id, query.key, query.q,
      query.location, query.hl, query.gl, query.num, query.device, member.priority, member.weight,
      member.target_url, nullif(array_to_string(member.tags, ${group}), ''), member.given
    from list_queries as member
    join queries as query on query.id = member.query_id
    where member.list_id = ${list}
      and member.last_seen = (select max(last_seen) from list_queries where list_id = ${list})
  `.execute(connection)
  return Number(numAffectedRows ?? 0)
}
