// Fetches rows with values in Postgres's text format.

import pg, { type PoolClient } from 'pg'
import { unhandled } from '../errors.ts'

/** Rows with values in Postgres's text format. A null value is null. */
export interface CellBatch {
  readonly columns: readonly CellColumn[]
  readonly rows: readonly (readonly (string | null)[])[]
}

/** The statement that fetches rows, and the batch size. */
interface Fetch {
  readonly text: string
  readonly values?: readonly (string | null)[]
  readonly cell?: number
  readonly signal?: AbortSignal
}

const batchSize = 2000

/** Fetches the rows of a query in batches. */
export async function* fetchAll(
  client: PoolClient,
  { text, values = [], cell, signal }: Fetch,
): AsyncGenerator<CellBatch> {
  const question = text.trim().replace(/(;|\s|--[^\n]*$)+$/, '')
  await declare(client, question, values)
  const shape = cell === undefined ? null : await shorten(client, { question, values, cell })
  const size = shape === null ? batchSize : shape.size
  for (let first = true; ; first = false) {
    signal?.throwIfAborted()
    const { columns, rows } = await askOnce(client, `fetch ${size} from question`)
    const batch =
      shape === null ? { columns, rows } : { columns: shape.columns, rows: shape.cut(rows) }
    // The first batch is returned even without rows, because a result without rows still has columns.
    if (rows.length > 0 || first) yield batch
    if (rows.length < size) return
  }
}

async function declare(
  client: PoolClient,
  question: string,
  values: readonly (string | null)[],
): Promise<void> {
  await client.query({
    text: `declare question no scroll cursor for ${question}`,
    values: [...values],
    // Allows only one statement: the server rejects a second statement after a semicolon.
    queryMode: 'extended',
  } as pg.QueryConfig)
}

// Maximum number of characters per batch.
const mostCharacters = 8_000_000

/** Repeats the statement with truncated cells, so that this process never loads a cell of a gigabyte. */
async function shorten(
  client: PoolClient,
  {
    question,
    values,
    cell,
  }: { question: string; values: readonly (string | null)[]; cell: number },
) {
  const { columns } = await askOnce(client, 'fetch 0 from question')
  const cut = (rows: CellBatch['rows']) =>
    rows.map((row) =>
      row.map((text) => (text !== null && text.length > cell ? `${text.slice(0, cell)}…` : text)),
    )
  const size = Math.max(1, Math.floor(mostCharacters / (cell * Math.max(1, columns.length))))
  if (columns.length > 0) {
    const names = columns.map((_, index) => `c${index}`)
    const shown = names.map((name) => `left(${name}::text, ${cell + 1}) as ${name}`)
    await client.query('close question')
    await declare(
      client,
      `select ${shown.join(', ')} from (${question}\n) as asked (${names.join(', ')})`,
      values,
    )
  }
  return { columns, cut, size: Math.min(batchSize, size) }
}

const asText = { getTypeParser: () => (value: string) => value }

export async function askOnce(
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

/** Kind of the values in a column, as far as the kind affects the output. */
export type ColumnKind = 'number' | 'boolean' | 'instant' | 'json' | 'list' | 'text'

/** A result column as described by the server. */
export interface CellColumn {
  readonly name: string
  readonly kind: ColumnKind
  readonly type: number
}

const kinds: Readonly<Record<number, ColumnKind>> = {
  16: 'boolean',
  20: 'number',
  21: 'number',
  23: 'number',
  700: 'number',
  701: 'number',
  1700: 'number',
  114: 'json',
  3802: 'json',
  1184: 'instant',
  1000: 'list',
  1005: 'list',
  1007: 'list',
  1009: 'list',
  1015: 'list',
  1016: 'list',
  1021: 'list',
  1022: 'list',
  1231: 'list',
  2951: 'list',
}

/** Kind of a server type. Unknown types count as text. */
export function kindOfCell(type: number): ColumnKind {
  return kinds[type] ?? 'text'
}

/** Item of an array as parsed by the driver, which knows fewer types than the server. */
type Listed = string | number | boolean | null

const readList = pg.types.getTypeParser as (type: number) => (text: string) => readonly Listed[]

export function listIn(text: string, type: number): readonly Listed[] {
  return readList(type)(text)
}

const bigintList = 1016

function numberIn(value: unknown, type: number): unknown {
  return type === bigintList && typeof value === 'string' ? Number(value) : value
}

export function jsonValue(text: string | null, { kind, type }: CellColumn): unknown {
  if (text === null) return null
  switch (kind) {
    case 'number': {
      const number = Number(text)
      // JSON has no NaN or infinity, and long numbers would lose digits.
      const exact = Number.isFinite(number) && (Number.isSafeInteger(number) || /[.e]/.test(text))
      return exact ? number : text
    }
    case 'boolean':
      return text === 't'
    case 'instant':
      return /^-?infinity$|BC$/.test(text) ? text : new Date(text).toISOString()
    case 'json':
      return JSON.parse(text) as unknown
    case 'list':
      return listIn(text, type).map((value) => numberIn(value, type))
    case 'text':
      return text
    default:
      throw unhandled('kind', kind)
  }
}
