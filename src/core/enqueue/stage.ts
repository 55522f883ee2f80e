// Stages a list in temporary tables before it is stored.

import {
  type ArrayColumn,
  DoubleColumn,
  IntegerColumn,
  TextColumn,
  UuidColumn,
} from '../../base/database/arrays.ts'
import type { Database } from '../../base/database/database.ts'
import { type Kysely, sql } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { awaitedLater } from '../../base/waiting.ts'
import type { ListedQuery, Rejection } from '../lists/rows.ts'

/** A list being staged. It exists only in temporary tables of two connections, invisible to others. */
export interface Stage {
  readonly number: number
  add(queries: readonly ListedQuery[]): Promise<void>
  reject(lines: readonly Rejection[]): Promise<void>
  /** Must be awaited before the list is planned. */
  end(): Promise<void>
  /** Adds the list's members as last read, instead of reading a file. */
  addMembers(list: number): Promise<number>
  /** Empties the tables to start over. */
  empty(): Promise<void>
  drop(): Promise<void>
}

/** Runs a function on dedicated connections, because temporary tables belong to a connection. */
export async function onConnections<T>(
  db: Database,
  work: (connections: Connections) => Promise<T>,
): Promise<T> {
  return db
    .connection()
    .execute(async (held) => db.connection().execute(async (wanted) => work({ held, wanted })))
}

/** Creates the temporary tables of one list; `labels` are those with a share of the credits. */
export async function openStage(
  connections: Connections,
  number: number,
  labels: readonly string[],
): Promise<Stage> {
  const { held, wanted } = connections
  await dropTables(connections, number)
  await makeTables(connections, number)
  const sender = new Sender(async (lot) => {
    await Promise.all([addWanted(wanted, number, lot), addHeld(held, number, lot)])
  }, labels)
  return {
    number,
    add: async (queries) => sender.add(queries),
    reject: async (lines) => addRejections(wanted, number, lines),
    end: async () => sender.end(),
    addMembers: async (list) => addMembers(wanted, number, { list, labels }),
    empty: async () => {
      await sender.end()
      await dropTables(connections, number)
      await makeTables(connections, number)
    },
    drop: async () => dropTables(connections, number),
  }
}

/** Adds the members of a list to the table that tasks are made from; their queries are already stored. */
async function addMembers(
  connection: Kysely<DB>,
  number: number,
  { list, labels }: { list: number; labels: readonly string[] },
): Promise<number> {
  const { numAffectedRows } = await sql`
    insert into ${wantedName(number)} (line, id, priority, weight, num, device, every_days, max_age_ms, share)
    select
      row_number() over (order by member.priority, member.query_id), query.id, member.priority,
      member.weight, query.num, query.device, member.every_days, member.max_age_ms,
      (
        select min(place) - 1
        from unnest(${[...labels]}::text[]) with ordinality as labels (label, place)
        where label = any(member.tags)
      )
    from list_queries as member
    join queries as query on query.id = member.query_id
    where member.list_id = ${list}
      and member.last_seen = (select max(last_seen) from list_queries where list_id = ${list})
  `.execute(connection)
  return Number(numAffectedRows ?? 0)
}

// Statements with this many rows are efficient; batches with many long texts are sent sooner.
const mostRows = 5_000
const mostBytes = 4_000_000

/** Sends rows in batches: one is filled while the previous one is in flight. */
export class Sender {
  // The two batches alternate, so that no new memory is needed.
  #gathering: Lot
  #travelling: Lot
  #sent: Promise<void> = Promise.resolve()
  readonly #send: (lot: Lot) => Promise<void>

  /** `labels` are those with a share of the credits. */
  constructor(send: (lot: Lot) => Promise<void>, labels: readonly string[] = []) {
    this.#send = send
    this.#gathering = new Lot(labels)
    this.#travelling = new Lot(labels)
  }

  /** Waits only while both batches are full. */
  async add(queries: readonly ListedQuery[]): Promise<void> {
    for (const query of queries) this.#gathering.add(query)
    const { rows, bytes } = this.#gathering
    if (rows >= mostRows || bytes >= mostBytes) await this.#swap()
  }

  /** Sends the rest; throws any earlier failure. */
  async end(): Promise<void> {
    await this.#swap()
    await this.#sent
  }

  async #swap(): Promise<void> {
    await this.#sent
    const full = this.#gathering
    this.#gathering = this.#travelling
    this.#travelling = full
    this.#gathering.clear()
    if (full.rows === 0) return
    this.#sent = awaitedLater(this.#send(full))
  }
}

/** Separates the labels of a query; no text of a list contains it. */
const group = '\u001d'

/** Queries of a list, collected by column until they are sent. */
class Lot {
  readonly columns = {
    line: new IntegerColumn(),
    id: new UuidColumn(),
    key: new TextColumn(),
    q: new TextColumn(),
    location: new TextColumn(),
    hl: new TextColumn(),
    gl: new TextColumn(),
    num: new IntegerColumn(),
    device: new TextColumn(),
    priority: new IntegerColumn(),
    weight: new DoubleColumn(),
    target: new TextColumn(),
    tags: new TextColumn(),
    cpc: new DoubleColumn(),
    difficulty: new DoubleColumn(),
    everyDays: new DoubleColumn(),
    maxAgeMs: new DoubleColumn(),
    given: new TextColumn(),
    share: new DoubleColumn(),
  }
  readonly #labels: readonly string[]
  readonly #all: readonly ArrayColumn[] = Object.values(this.columns)
  #rows = 0

  /** Labels with a share of the credits, in order of precedence. */
  constructor(labels: readonly string[]) {
    this.#labels = labels
  }

  get rows(): number {
    return this.#rows
  }

  get bytes(): number {
    return this.#all.reduce((sum, column) => sum + column.size, 0)
  }

  add(staged: ListedQuery): void {
    const { line, id, key, query, priority, weight, target, tags, given } = staged
    const { columns } = this
    this.#rows += 1
    columns.line.add(line)
    columns.id.add(id)
    columns.key.add(key)
    columns.q.add(query.q)
    columns.location.add(query.location)
    columns.hl.add(query.hl)
    columns.gl.add(query.gl)
    columns.num.add(query.num)
    columns.device.add(query.device)
    columns.priority.add(priority)
    columns.weight.add(weight)
    columns.target.add(target)
    columns.tags.add(tags.length === 0 ? null : tags.join(group))
    columns.cpc.add(staged.cpc)
    columns.difficulty.add(staged.difficulty)
    columns.everyDays.add(staged.everyDays)
    columns.maxAgeMs.add(staged.maxAgeMs)
    columns.given.add(given)
    columns.share.add(placeAmong(this.#labels, tags))
  }

  /** Clears the columns for the next batch. Parameters built from them must have been sent. */
  clear(): void {
    this.#rows = 0
    for (const column of this.#all) column.clear()
  }
}

/** Index of the first of these labels that a query has; null: none. */
function placeAmong(labels: readonly string[], tags: readonly string[]): number | null {
  const place = labels.findIndex((label) => tags.includes(label))
  return place === -1 ? null : place
}

/** Two connections, so that the list and its tasks are written in parallel. */
export interface Connections {
  /** For the list and its queries. */
  readonly held: Kysely<DB>
  /** For the run and its tasks. */
  readonly wanted: Kysely<DB>
}

/** Temporary table that tasks are made from, on the run's connection. */
export function wantedName(number: number) {
  return sql.id('pg_temp', `staged_wanted_${number}`)
}

/** Temporary table of the lines without a query, on the run's connection. */
export function rejectedName(number: number) {
  return sql.id('pg_temp', `staged_rejected_${number}`)
}

/** Temporary table of the queries with their attributes, on the list's connection. */
export function heldName(number: number) {
  return sql.id('pg_temp', `staged_held_${number}`)
}

/** Creates the tables of one list. */
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

/** Drops those tables of one list that exist. */
async function dropTables({ held, wanted }: Connections, number: number): Promise<void> {
  await sql`drop table if exists ${wantedName(number)}, ${rejectedName(number)}`.execute(wanted)
  await sql`drop table if exists ${heldName(number)}`.execute(held)
}

type LotColumns = Lot['columns']

/** Adds the rows that tasks are made from. */
async function addWanted(connection: Kysely<DB>, number: number, { columns }: Lot): Promise<void> {
  const { line, share } = columns
  await insertColumns(connection, wantedName(number), { line, share, ...inBoth(columns) })
}

/** Adds the queries of a list with their attributes. */
async function addHeld(connection: Kysely<DB>, number: number, { columns }: Lot): Promise<void> {
  const { key, q, location, hl, gl, cpc, difficulty, target, tags, given } = columns
  const texts = { key, q, location, hl, gl, target, tags, given }
  await insertColumns(connection, heldName(number), {
    ...inBoth(columns),
    ...texts,
    cpc,
    difficulty,
  })
}

/** Columns that both tables have. */
function inBoth({ id, priority, weight, num, device, everyDays, maxAgeMs }: LotColumns) {
  return { id, priority, weight, num, device, every_days: everyDays, max_age_ms: maxAgeMs }
}

/** Adds columns of equal length as rows. */
async function insertColumns(
  connection: Kysely<DB>,
  table: ReturnType<typeof wantedName>,
  columns: Readonly<Record<string, ArrayColumn>>,
): Promise<void> {
  const names = Object.keys(columns).map((name) => sql.id(name))
  const arrays = Object.values(columns).map(
    // A column of nulls is sent as an empty array: `unnest` fills it with nulls.
    (column) => sql`${column.blank ? '{}' : column.toParameter()}::${sql.raw(typeOf(column))}[]`,
  )
  await sql`
    insert into ${table} (${sql.join(names)})
    select *
    from unnest(${sql.join(arrays)})`.execute(connection)
}

function typeOf(column: ArrayColumn): string {
  if (column instanceof IntegerColumn) return 'integer'
  if (column instanceof UuidColumn) return 'uuid'
  return column instanceof DoubleColumn ? 'double precision' : 'text'
}

const chunk = 5000

/** Adds lines without a query. */
async function addRejections(
  connection: Kysely<DB>,
  number: number,
  lines: readonly Rejection[],
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
