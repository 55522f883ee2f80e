import { sql, type Kysely } from '../kysely.ts'
import type { DB } from '../schema.ts'
import type { ArrayColumn } from '../arrays.ts'
import type { Lot } from './staged-columns.ts'

/** Two connections, so that a list is written on one processor while its tasks are written on another. */
export interface Connections {
  /** For the list and its queries. */
  readonly held: Kysely<DB>
  /** For the run and its tasks. */
  readonly wanted: Kysely<DB>
}

/** A line that gave no query, and why. */
export interface StagedRejection {
  readonly line: number
  readonly reason: string
  readonly content: string
}

/** The temporary table of what tasks are made of, on the connection of the run. */
export function wantedName(number: number) {
  return sql.id('pg_temp', `staged_wanted_${number}`)
}

/** The temporary table of the lines that gave no query, on the connection of the run. */
export function rejectedName(number: number) {
  return sql.id('pg_temp', `staged_rejected_${number}`)
}

/** The temporary table of the queries with what is said about them, on the connection of the list. */
export function heldName(number: number) {
  return sql.id('pg_temp', `staged_held_${number}`)
}

/** Makes the tables of one list. */
export async function makeTables({ held, wanted }: Connections, number: number): Promise<void> {
  await sql`
    create temporary table ${wantedName(number)} (
      ord integer generated always as identity,
      line integer not null,
      num integer not null,
      priority smallint not null,
      weight double precision,
      max_age_ms bigint,
      every_days integer,
      share integer,
      id uuid not null,
      device text
    )`.execute(wanted)
  await sql`
    create temporary table ${rejectedName(number)} (
      line integer not null,
      reason text not null,
      content text not null
    )`.execute(wanted)
  await sql`
    create temporary table ${heldName(number)} (
      ord integer generated always as identity,
      num integer not null,
      priority smallint not null,
      weight double precision,
      cpc double precision,
      difficulty double precision,
      max_age_ms bigint,
      every_days integer,
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
    )`.execute(held)
}

/** Drops the tables of one list, as far as they exist. */
export async function dropTables({ held, wanted }: Connections, number: number): Promise<void> {
  await sql`drop table if exists ${wantedName(number)}, ${rejectedName(number)}`.execute(wanted)
  await sql`drop table if exists ${heldName(number)}`.execute(held)
}

/** Adds the rows that tasks are made of. */
export async function addWanted(
  connection: Kysely<DB>,
  number: number,
  { columns }: Lot,
): Promise<void> {
  await sql`
    insert into ${wantedName(number)} (line, id, priority, weight, num, device, every_days, max_age_ms, share)
    select *
    from unnest(
      ${parameterOf(columns.line)}::integer[],
      ${parameterOf(columns.id)}::uuid[],
      ${parameterOf(columns.priority)}::integer[],
      ${parameterOf(columns.weight)}::double precision[],
      ${parameterOf(columns.num)}::integer[],
      ${parameterOf(columns.device)}::text[],
      ${parameterOf(columns.everyDays)}::double precision[],
      ${parameterOf(columns.maxAgeMs)}::double precision[],
      ${parameterOf(columns.share)}::double precision[]
    )`.execute(connection)
}

/** Adds the queries of a list, with what the list says about them. */
export async function addHeld(
  connection: Kysely<DB>,
  number: number,
  { columns }: Lot,
): Promise<void> {
  await sql`
    insert into ${heldName(number)}
      (id, key, q, location, hl, gl, num, device, priority, weight, cpc, difficulty, target, tags, given,
      every_days, max_age_ms)
    select *
    from unnest(
      ${parameterOf(columns.id)}::uuid[],
      ${parameterOf(columns.key)}::text[],
      ${parameterOf(columns.q)}::text[],
      ${parameterOf(columns.location)}::text[],
      ${parameterOf(columns.hl)}::text[],
      ${parameterOf(columns.gl)}::text[],
      ${parameterOf(columns.num)}::integer[],
      ${parameterOf(columns.device)}::text[],
      ${parameterOf(columns.priority)}::integer[],
      ${parameterOf(columns.weight)}::double precision[],
      ${parameterOf(columns.cpc)}::double precision[],
      ${parameterOf(columns.difficulty)}::double precision[],
      ${parameterOf(columns.target)}::text[],
      ${parameterOf(columns.tags)}::text[],
      ${parameterOf(columns.given)}::text[],
      ${parameterOf(columns.everyDays)}::double precision[],
      ${parameterOf(columns.maxAgeMs)}::double precision[]
    )`.execute(connection)
}

/** A column of nulls is sent as an empty array: `unnest` fills it with nulls. */
function parameterOf(column: ArrayColumn): Buffer | string {
  return column.blank ? '{}' : column.toParameter()
}

const chunk = 5000

/** Adds lines that gave no query. */
export async function addRejections(
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
