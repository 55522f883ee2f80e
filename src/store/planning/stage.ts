import { sql, type Kysely } from '../kysely.ts'
import type { Database } from '../database.ts'
import type { DB } from '../schema.ts'
import { Sender } from './sender.ts'
import type { StagedQuery } from './staged-columns.ts'
import {
  addHeld,
  addRejections,
  addWanted,
  dropTables,
  makeTables,
  wantedName,
  type Connections,
  type StagedRejection,
} from './staged-tables.ts'

/** A list on its way into the tables: it lives in temporary tables of two connections, and nobody else sees it. */
export interface Stage {
  readonly number: number
  add(queries: readonly StagedQuery[]): Promise<void>
  reject(lines: readonly StagedRejection[]): Promise<void>
  /** Must be awaited before the list is planned. */
  end(): Promise<void>
  /** The members of a list as they were last read, instead of a file. */
  addMembers(list: number): Promise<number>
  /** Takes everything back, to begin anew. */
  empty(): Promise<void>
  drop(): Promise<void>
}

/** Runs a function on connections of its own: temporary tables belong to a connection. */
export async function onConnections<T>(
  db: Database,
  work: (connections: Connections) => Promise<T>,
): Promise<T> {
  return db
    .connection()
    .execute(async (held) => db.connection().execute(async (wanted) => work({ held, wanted })))
}

/** Makes the temporary tables of one list; `labels` are those that are given a share of the credits. */
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

/** Adds the members of a list to what tasks are made of; the tables hold their queries already. */
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
