import pg from 'pg'
import type { Pool, PoolClient } from 'pg'
import { Misuse } from '../../shared/errors.ts'
import { findReader } from './analyst.ts'
import { withheld } from './readable.ts'
import { kindOfCell, type CellColumn } from './cells.ts'
import { onlyList, sliceSettings, type Slice } from './slice.ts'

/** Rows as Postgres writes their values; null is null. */
export interface CellBatch {
  readonly columns: readonly CellColumn[]
  readonly rows: readonly (readonly (string | null)[])[]
}

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
  /** Called once when there is no role that may only read. */
  readonly warn: (line: string) => void
}

const batchSize = 2000

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
  try {
    await beginReading(client, inquiry, reader)
    const values = await nameDay(client, inquiry)
    if (kind === 'rows') yield* fetchAll(client, { text: inquiry.text, values })
    else yield await ask(client, inquiry.text, values)
  } catch (error) {
    throw explain(error)
  } finally {
    await leave(client)
  }
}

/** Ends the transaction, and its settings with it; it changed nothing. */
async function leave(client: PoolClient): Promise<void> {
  try {
    await client.query('rollback')
    client.release()
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
  const settings: Record<string, string> = {
    statement_timeout: String(timeoutMs),
    // Compiling a question costs more than it saves on a few million rows.
    jit: 'off',
    work_mem: '64MB',
    // Everything is read, so the plan for the first rows alone would be the wrong one.
    cursor_tuple_fraction: '1',
    ...(origins === undefined ? {} : { 'querymill.origins': origins }),
    ...(suspects ? { 'querymill.suspects': 'show' } : {}),
    ...(slice === undefined ? {} : sliceSettings(slice)),
  }
  for (const [name, value] of Object.entries(settings)) {
    await client.query('select set_config($1, $2, true)', [name, value])
  }
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

async function* fetchAll(
  client: PoolClient,
  { text, values }: Pick<Inquiry, 'text' | 'values'>,
): AsyncGenerator<CellBatch> {
  const question = text.trim().replace(/(;|\s|--[^\n]*$)+$/, '')
  await client.query({
    text: `declare question no scroll cursor for ${question}`,
    values: [...(values ?? [])],
    // One statement only: a second one behind a semicolon is refused by the server.
    queryMode: 'extended',
  } as pg.QueryConfig)
  for (let first = true; ; first = false) {
    const batch = await ask(client, `fetch ${batchSize} from question`)
    // An answer without rows still has columns.
    if (batch.rows.length > 0 || first) yield batch
    if (batch.rows.length < batchSize) return
  }
}

const asText = { getTypeParser: () => (value: string) => value }

async function ask(
  client: PoolClient,
  text: string,
  values: readonly (string | null)[] = [],
): Promise<CellBatch> {
  const { rows, fields } = await client.query<(string | null)[]>({
    text,
    values: [...values],
    rowMode: 'array',
    types: asText,
    queryMode: 'extended',
  } as pg.QueryArrayConfig)
  const columns = fields.map(({ name, dataTypeID }) => {
    return { name, kind: kindOfCell(dataTypeID), type: dataTypeID }
  })
  return { columns, rows }
}

const timedOut = '57014'
const notAllowed = '42501'

/** What an analyst typed wrong is no bug of ours: one line, with the server's own hint. */
function explain(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error
  const hint = error.hint === undefined ? '' : `; ${error.hint}`
  if (error.code === timedOut) {
    return new Misuse('expected an answer within the time limit, got none; give --timeout more', {
      cause: error,
    })
  }
  if (error.code === notAllowed) return refuse(error)
  return new Misuse(
    `expected a question that the database can answer, got: ${error.message}${hint}`,
    {
      cause: error,
    },
  )
}

function refuse(error: pg.DatabaseError): Misuse {
  // The server's words are in its own language, the name is in ours.
  const kept = withheld.find((name) => new RegExp(`\\b${name}\\b`).test(error.message))
  const got =
    kept === undefined
      ? error.message
      : `${kept}, a table of the mill's own bookkeeping, which is neither shown nor exported`
  return new Misuse(
    `expected views of analysts or tables of answers, lists and runs, got: ${got}; docs/schema.md says what may be read`,
    { cause: error },
  )
}
