import type { Pool, PoolClient } from 'pg'
import { Misuse } from '../../shared/errors.ts'
import { findReader } from './analyst.ts'
import { cancelOn } from './cancel.ts'
import { explain } from './explain.ts'
import { askOnce, fetchAll, type CellBatch } from './fetch.ts'
import { readingSettings, setSettings } from './reading.ts'
import { onlyList, type Slice } from './slice.ts'

/** A question, and how it is to be asked. */
export interface Inquiry {
  readonly text: string
  readonly values?: readonly (string | null)[]
  /** Which of the values is a day that may be "newest": it becomes a date before the question is asked. */
  readonly day?: number
  readonly timeoutMs: number
  /** Kinds of answers that the views show; undefined: as the database says, live by default. */
  readonly origins?: string | undefined
  /** True: answers of suspect nights as well. */
  readonly suspects?: boolean
  /** Queries and days that the views are narrowed to. */
  readonly slice?: Slice | undefined
  /** Aborted when nobody waits for the answer any more: the statement is ended. */
  readonly signal?: AbortSignal
  /** Characters of a cell that are read, and an ellipsis where it has more; undefined: all. Such answers come in small pieces. */
  readonly cell?: number
  /** Done on the connection before the question is asked; the connection ends with the answer. */
  readonly before?: ((client: PoolClient) => Promise<void>) | undefined
  /** Called once when there is no role that may only read. */
  readonly warn: (line: string) => void
}

/** Asks one question as a role that may only read, within a time limit; never holds more than one batch of rows. */
export async function* readBatches(pool: Pool, inquiry: Inquiry): AsyncGenerator<CellBatch> {
  const kind = kindOf(inquiry.text)
  const reader = await findReader(pool)
  if (reader === null) {
    inquiry.warn(
      'the database has no role that may only read: reading as the user of DATABASE_URL, in a transaction that only reads; npm run migrate makes the role where that user may make roles',
    )
  }
  const client = await pool.connect()
  let settle = () => Promise.resolve()
  try {
    await inquiry.before?.(client)
    settle = await cancelOn(pool, client, inquiry.signal)
    await beginReading(client, inquiry, reader)
    const values = await nameDay(client, inquiry)
    if (kind === 'rows') yield* fetchAll(client, { ...inquiry, values })
    else yield await askOnce(client, inquiry.text, values)
  } catch (error) {
    throw explain(error)
  } finally {
    // What ends a statement must not hit the next one on the same connection.
    await settle()
    await leave(client, inquiry.before !== undefined)
  }
}

/** Ends the transaction, and its settings with it; it changed nothing. */
async function leave(client: PoolClient, ends: boolean): Promise<void> {
  try {
    await client.query('rollback')
    client.release(ends)
  } catch {
    // The connection is gone: the pool forgets it, and the first error is the one to report.
    client.release(true)
  }
}

function kindOf(text: string): 'rows' | 'report' {
  const code = text.replace(/^(\s+|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/|\()+/, '')
  const word = /^[a-z]+/i.exec(code)?.[0].toLowerCase() ?? ''
  if (['select', 'with', 'values', 'table'].includes(word)) return 'rows'
  if (['show', 'explain'].includes(word)) return 'report'
  throw new Misuse(
    `expected a question that begins with select, with, values, table, show or explain, got ${JSON.stringify(word || text.slice(0, 20))}; this command only reads`,
  )
}

async function beginReading(
  client: PoolClient,
  { timeoutMs, origins, suspects = false, slice }: Inquiry,
  reader: string | null,
): Promise<void> {
  await client.query('begin read only')
  const settings = {
    // Where nobody asks for suspect nights, the database's own word holds.
    ...readingSettings({ timeoutMs, origins, slice, ...(suspects ? { suspects } : {}) }),
    // Everything is read, so the plan for the first rows alone would be the wrong one.
    cursor_tuple_fraction: '1',
  }
  await client.query(setSettings, [Object.keys(settings), Object.values(settings)])
  if (reader !== null) await client.query(`set local role ${reader}`)
}

/** A date that is known when the question is planned keeps it to the rows of that day; one that is worked out does not. */
async function nameDay(
  client: PoolClient,
  { values = [], day, slice, warn }: Inquiry,
): Promise<readonly (string | null)[]> {
  if (day === undefined || values[day] !== 'newest') return values
  const { rows } = await client.query<{ newest: string | null; greatest: string | null }>(
    `select
      analysis.newest_day($1)::text as newest,
      (select max(run_date) from public.runs left join public.lists on lists.id = list_id
        where $1::text is null or lists.name = $1)::text as greatest`,
    [slice === undefined ? null : onlyList(slice)],
  )
  const { newest = null, greatest = null } = rows[0] ?? {}
  if (newest !== null && newest !== greatest) {
    warn(
      `the day is ${newest}, the newest full one; ${greatest} holds too few answers to stand beside it`,
    )
  }
  return values.with(day, newest)
}
