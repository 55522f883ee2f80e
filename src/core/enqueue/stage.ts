// Stages a list in temporary tables before it is stored.

import { ArrayColumn, kinds } from '../../base/database/arrays.ts'
import type { Database } from '../../base/database/database.ts'
import { type Kysely, sql } from '../../base/database/kysely.ts'
import type { DB, Generated } from '../../base/database/schema.ts'
import { statement } from '../../base/database/sql-file.ts'
import { awaitedLater } from '../../base/waiting.ts'
import type { ListedQuery, Rejection } from '../lists/rows.ts'

/** A temporary table exists only on its connection. */
export async function onConnections<T>(
  db: Database,
  work: (connections: Connections) => Promise<T>,
): Promise<T> {
  return db
    .connection()
    .execute(async (held) => db.connection().execute(async (wanted) => work({ held, wanted })))
}

// Limits of a batch. Number of rows per statement, chosen for efficiency; long texts are sent in smaller batches.
const mostRows = 5_000
const mostBytes = 4_000_000

/** Sends rows in batches. One batch is filled while the previous batch is in flight. */
export function createSender(send: (lot: Lot) => Promise<void>, labels: readonly string[] = []) {
  // Two batches alternate, so that their memory is reused.
  let gathering = new Lot(labels)
  let travelling = new Lot(labels)
  let sent: Promise<void> = Promise.resolve()

  async function swap(): Promise<void> {
    await sent
    const full = gathering
    gathering = travelling
    travelling = full
    gathering.clear()
    if (full.rows > 0) sent = awaitedLater(send(full))
  }

  return {
    /** Adds queries, and waits if both batches are full. */
    async add(queries: readonly ListedQuery[]): Promise<void> {
      for (const query of queries) gathering.add(query)
      const { rows, bytes } = gathering
      if (rows >= mostRows || bytes >= mostBytes) await swap()
    },

    /** Sends the remaining rows, and throws an error if any batch failed. */
    async end(): Promise<void> {
      await swap()
      await sent
    },
  }
}

/** Separator between the tags of a query. No text in a list contains this character. */
const group = '\u001d'

/** A column of staged lines: its type in a table, its type in a parameter, and its values. */
function column<T>(
  type: string,
  kind: ArrayColumn<T>['kind'],
  value: (line: ListedQuery, labels: readonly string[]) => T | null,
) {
  return { type, fill: () => ({ array: new ArrayColumn(kind), value }) }
}

type FilledColumn = ReturnType<ReturnType<typeof column>['fill']>

const { integer, double, text, uuid } = kinds

/** Columns of both query tables, with fixed-size columns first. */
const inBoth = {
  num: column('integer not null', integer, ({ query }) => query.num),
  priority: column('smallint not null', integer, ({ priority }) => priority),
  weight: column('double precision', double, ({ weight }) => weight),
  max_age_ms: column('bigint', double, ({ maxAgeMs }) => maxAgeMs),
  every_days: column('integer', integer, ({ everyDays }) => everyDays),
  id: column('uuid not null', uuid, ({ id }) => id),
  device: column('text', text, ({ query }) => query.device),
}
const columnsOf = {
  staged_wanted: {
    ...inBoth,
    line: column('integer not null', integer, ({ line }) => line),
    share: column('integer', integer, ({ tags }, labels) => {
      const place = labels.findIndex((label) => tags.includes(label))
      return place === -1 ? null : place
    }),
  },
  staged_held: {
    ...inBoth,
    cpc: column('double precision', double, ({ cpc }) => cpc),
    difficulty: column('double precision', double, ({ difficulty }) => difficulty),
    key: column('text not null', text, ({ key }) => key),
    q: column('text not null', text, ({ query }) => query.q),
    location: column('text', text, ({ query }) => query.location),
    hl: column('text', text, ({ query }) => query.hl),
    gl: column('text', text, ({ query }) => query.gl),
    target: column('text', text, ({ target }) => target),
    tags: column('text', text, ({ tags }) => (tags.length === 0 ? null : tags.join(group))),
    given: column('text', text, ({ given }) => given),
  },
  staged_rejected: {
    line: { type: 'integer not null' },
    reason: { type: 'text not null' },
    content: { type: 'text not null' },
  },
}

/** Collects the queries of a list by column before sending them. */
class Lot {
  readonly columns = new Map<string, FilledColumn>()
  rows = 0
  readonly #all: readonly FilledColumn[]
  readonly #labels: readonly string[]

  /** `labels` contains the tags with a share of the credits, in order of precedence. */
  constructor(labels: readonly string[]) {
    this.#labels = labels
    const { staged_wanted: wanted, staged_held: held } = columnsOf
    for (const [name, { fill }] of Object.entries({ ...wanted, ...held })) {
      this.columns.set(name, fill())
    }
    this.#all = [...this.columns.values()]
  }

  get bytes(): number {
    return this.#all.reduce((sum, { array }) => sum + array.size, 0)
  }

  add(line: ListedQuery): void {
    this.rows += 1
    for (const { array, value } of this.#all) array.add(value(line, this.#labels))
  }

  /** Clears the columns. First send all parameters built from the columns. */
  clear(): void {
    this.rows = 0
    for (const { array } of this.#all) array.clear()
  }
}

export type Stage = ReturnType<typeof createStage>

/** A list that is being staged in temporary tables. Await `end` before planning the list. */
export function createStage(connections: Connections, number: number, labels: readonly string[]) {
  const sender = createSender(async (lot) => {
    await Promise.all([
      insertRows(connections, 'staged_wanted', { number, lot }),
      insertRows(connections, 'staged_held', { number, lot }),
    ])
  }, labels)

  async function drop(): Promise<void> {
    for (const table of stagedTables) {
      const { schema } = connectionOf(connections, table)
      await schema.dropTable(stageName(table, number)).ifExists().execute()
    }
  }

  return {
    ...sender,
    number,
    drop,

    async reject(lines: readonly Rejection[]): Promise<void> {
      const table = sql.id(stageName('staged_rejected', number))
      for (let start = 0; start < lines.length; start += mostRows) {
        const some = JSON.stringify(lines.slice(start, start + mostRows))
        await sql`
          insert into ${table} (line, reason, content)
          select line, reason, content
          from jsonb_to_recordset(${some}::jsonb) as rows (line integer, reason text, content text)
        `.execute(connections.wanted)
      }
    },

    /** Adds a list's members from the database instead of a file, so their queries are already stored. */
    async addMembers(list: number): Promise<number> {
      const wanted = stageName('staged_wanted', number)
      const insert = statement('stage_members', { list, labels }, { wanted })
      const { numAffectedRows } = await connections.wanted.executeQuery(insert)
      return Number(numAffectedRows ?? 0)
    },

    /** Drops the tables from an earlier read, and creates empty tables. */
    async start(): Promise<void> {
      await sender.end()
      await drop()
      await makeTables(connections, number)
    },
  }
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

export async function makeTables(connections: Connections, number: number): Promise<void> {
  for (const table of stagedTables) {
    const create = connectionOf(connections, table)
      .schema.createTable(stageName(table, number))
      .temporary()
      .addColumn('ord', 'integer', (ord) => ord.generatedAlwaysAsIdentity())
    await Object.entries<{ readonly type: string }>(columnsOf[table])
      .reduce((all, [name, { type }]) => all.addColumn(name, sql.raw(type)), create)
      .execute()
  }
}

async function insertRows(
  connections: Connections,
  table: 'staged_wanted' | 'staged_held',
  { number, lot }: { number: number; lot: Lot },
): Promise<void> {
  const columns = [...lot.columns].filter(([name]) => name in columnsOf[table])
  const names = columns.map(([name]) => sql.id(name))
  // A column of nulls is sent as an empty array, which `unnest` pads with nulls.
  const arrays = columns.map(
    ([, { array }]) =>
      sql`${array.blank ? '{}' : array.toParameter()}::${sql.raw(array.kind.name)}[]`,
  )
  await sql`
    insert into ${sql.id(stageName(table, number))} (${sql.join(names)})
    select *
    from unnest(${sql.join(arrays)})`.execute(connectionOf(connections, table))
}
