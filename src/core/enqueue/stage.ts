// Stages a list in temporary tables before it is stored.

import { ArrayColumn, kinds } from '../../base/database/arrays.ts'
import type { Database } from '../../base/database/database.ts'
import { type Kysely, sql } from '../../base/database/kysely.ts'
import type { DB, Generated } from '../../base/database/schema.ts'
import { statement } from '../../base/database/sql-file.ts'
import { awaitedLater } from '../../base/waiting.ts'
import type { ListedQuery, Rejection } from '../lists/rows.ts'

/** Temporary tables belong to a connection. */
export async function onConnections<T>(
  db: Database,
  work: (connections: Connections) => Promise<T>,
): Promise<T> {
  return db
    .connection()
    .execute(async (held) => db.connection().execute(async (wanted) => work({ held, wanted })))
}

// Limits of a batch. Statements with this number of rows are efficient, but many long texts are sent sooner.
const mostRows = 5_000
const mostBytes = 4_000_000

/** Sends rows in batches. One batch is filled while the previous batch is in flight. */
export class Sender {
  // The two batches alternate, so that no memory has to be allocated.
  #gathering: Lot
  #travelling: Lot
  #sent: Promise<void> = Promise.resolve()
  readonly #send: (lot: Lot) => Promise<void>

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

  /** Sends the remaining rows, and throws any earlier failure. */
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

/** Separator between the tags of a query. No text in a list contains this character. */
const group = '\u001d'

/** Queries in a list, collected by column until they are sent. */
class Lot {
  readonly columns = {
    line: new ArrayColumn(kinds.integer),
    id: new ArrayColumn(kinds.uuid),
    key: new ArrayColumn(kinds.text),
    q: new ArrayColumn(kinds.text),
    location: new ArrayColumn(kinds.text),
    hl: new ArrayColumn(kinds.text),
    gl: new ArrayColumn(kinds.text),
    num: new ArrayColumn(kinds.integer),
    device: new ArrayColumn(kinds.text),
    priority: new ArrayColumn(kinds.integer),
    weight: new ArrayColumn(kinds.double),
    target: new ArrayColumn(kinds.text),
    tags: new ArrayColumn(kinds.text),
    cpc: new ArrayColumn(kinds.double),
    difficulty: new ArrayColumn(kinds.double),
    every_days: new ArrayColumn(kinds.integer),
    max_age_ms: new ArrayColumn(kinds.double),
    given: new ArrayColumn(kinds.text),
    share: new ArrayColumn(kinds.integer),
  }
  rows = 0
  readonly #labels: readonly string[]
  readonly #all = Object.values(this.columns)

  /** `labels` are the tags with a share of the credits, in order of precedence. */
  constructor(labels: readonly string[]) {
    this.#labels = labels
  }

  get bytes(): number {
    return this.#all.reduce((sum, column) => sum + column.size, 0)
  }

  add(staged: ListedQuery): void {
    const { line, id, key, query, priority, weight, target, tags, given } = staged
    const { columns } = this
    this.rows += 1
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
    columns.every_days.add(staged.everyDays)
    columns.max_age_ms.add(staged.maxAgeMs)
    columns.given.add(given)
    columns.share.add(placeAmong(this.#labels, tags))
  }

  /** All parameters that were built from the columns must have been sent before. */
  clear(): void {
    this.rows = 0
    for (const column of this.#all) column.clear()
  }
}

/** A list that is being staged in temporary tables. Await `end` before the list is planned. */
export class Stage extends Sender {
  readonly number: number
  readonly #connections: Connections
  readonly #labels: readonly string[]

  constructor(connections: Connections, number: number, labels: readonly string[]) {
    super(async ({ columns }) => {
      await Promise.all([
        insertRows(connections, 'staged_wanted', { number, columns }),
        insertRows(connections, 'staged_held', { number, columns }),
      ])
    }, labels)
    this.number = number
    this.#connections = connections
    this.#labels = labels
  }

  async reject(lines: readonly Rejection[]): Promise<void> {
    const table = sql.id(stageName('staged_rejected', this.number))
    for (let start = 0; start < lines.length; start += mostRows) {
      const some = JSON.stringify(lines.slice(start, start + mostRows))
      await sql`
        insert into ${table} (line, reason, content)
        select line, reason, content
        from jsonb_to_recordset(${some}::jsonb) as rows (line integer, reason text, content text)
      `.execute(this.#connections.wanted)
    }
  }

  /** Adds the members of a list from the database rather than from a file. Their queries are already stored. */
  async addMembers(list: number): Promise<number> {
    const wanted = stageName('staged_wanted', this.number)
    const insert = statement('stage_members', { list, labels: this.#labels }, { wanted })
    const { numAffectedRows } = await this.#connections.wanted.executeQuery(insert)
    return Number(numAffectedRows ?? 0)
  }

  /** Creates empty tables, and drops the tables of an earlier reading. */
  async start(): Promise<void> {
    await this.end()
    await this.drop()
    await makeTables(this.#connections, this.number)
  }

  async drop(): Promise<void> {
    for (const table of stagedTables) {
      const { schema } = connectionOf(this.#connections, table)
      await schema.dropTable(stageName(table, this.number)).ifExists().execute()
    }
  }
}

/** Returns the index of the first label that is one of the query's tags. */
function placeAmong(labels: readonly string[], tags: readonly string[]): number | null {
  const place = labels.findIndex((label) => tags.includes(label))
  return place === -1 ? null : place
}

export interface Connections {
  /** Writes the list and its queries. */
  readonly held: Kysely<DB>
  /** Writes the run and its tasks. */
  readonly wanted: Kysely<DB>
}

type Member = Pick<DB['list_queries'], 'priority' | 'weight' | 'every_days' | 'max_age_ms'>
type StagedLine = Member & Pick<DB['queries'], 'id' | 'num' | 'device'> & { ord: Generated<number> }

/** Temporary tables used while lists are planned. Each list has its own numbered tables of lines. */
export type StageTables = {
  /** Lines that become tasks. */
  staged_wanted: StagedLine & { line: number; share: number | null }
  staged_rejected: { line: number; reason: string; content: string }
  /** Queries with their attributes. */
  staged_held: StagedLine & Pick<DB['queries'], 'key' | 'q' | 'location' | 'hl' | 'gl'>
  /** Distinct queries in a list, written by `merge_duplicates.sql`. */
  merged: Member & {
    id: string
    ord: number
    already: boolean
    search_id: number | null
    rests: boolean
    reused: boolean
    unreadable: boolean
    answered: Date | null
    overdue: boolean
    share: number | null
    price: number | null
  }
}

const stagedTables = ['staged_wanted', 'staged_rejected', 'staged_held'] as const
type StagedTable = (typeof stagedTables)[number]

export function stageName<T extends StagedTable>(table: T, number: number): T {
  return `${table}_${number}` as T
}

function connectionOf({ held, wanted }: Connections, table: StagedTable): Kysely<DB> {
  return table === 'staged_held' ? held : wanted
}

const types = {
  line: 'integer not null',
  num: 'integer not null',
  priority: 'smallint not null',
  weight: 'double precision',
  max_age_ms: 'bigint',
  every_days: 'integer',
  id: 'uuid not null',
  device: 'text',
  share: 'integer',
  cpc: 'double precision',
  difficulty: 'double precision',
  key: 'text not null',
  q: 'text not null',
  location: 'text',
  hl: 'text',
  gl: 'text',
  target: 'text',
  tags: 'text',
  given: 'text',
  reason: 'text not null',
  content: 'text not null',
} as const

/** Columns that both tables of queries have. Columns of fixed size come first. */
const inBoth = ['num', 'priority', 'weight', 'max_age_ms', 'every_days', 'id', 'device'] as const
const texts = ['key', 'q', 'location', 'hl', 'gl', 'target', 'tags', 'given'] as const
const columnsOf = {
  staged_wanted: [...inBoth, 'line', 'share'],
  staged_rejected: ['line', 'reason', 'content'],
  staged_held: [...inBoth, 'cpc', 'difficulty', ...texts],
} as const

export async function makeTables(connections: Connections, number: number): Promise<void> {
  for (const table of stagedTables) {
    const create = connectionOf(connections, table)
      .schema.createTable(stageName(table, number))
      .temporary()
      .addColumn('ord', 'integer', (column) => column.generatedAlwaysAsIdentity())
    await columnsOf[table]
      .reduce((all, name) => all.addColumn(name, sql.raw(types[name])), create)
      .execute()
  }
}

async function insertRows(
  connections: Connections,
  table: 'staged_wanted' | 'staged_held',
  { number, columns }: { number: number; columns: Lot['columns'] },
): Promise<void> {
  const names = columnsOf[table]
  // A column of nulls is sent as an empty array, which `unnest` fills with nulls.
  const arrays = names.map((name) => {
    const { blank, kind } = columns[name]
    return sql`${blank ? '{}' : columns[name].toParameter()}::${sql.raw(kind.name)}[]`
  })
  await sql`
    insert into ${sql.id(stageName(table, number))} (${sql.join(names.map((name) => sql.id(name)))})
    select *
    from unnest(${sql.join(arrays)})`.execute(connectionOf(connections, table))
}
