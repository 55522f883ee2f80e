// Fetches rows with values in PostgreSQL's text format.

import pg, { type PoolClient } from 'pg'
import { unhandled } from '../errors.ts'

export type CellBatch = Awaited<ReturnType<typeof askOnce>>

type Values = readonly (string | null)[]

interface Fetch {
  readonly text: string
  readonly values?: Values
  /** Maximum number of characters in a cell. Longer cells are truncated. */
  readonly cell?: number
  readonly signal?: AbortSignal
}

const batchSize = 2000

export async function* fetchAll(
  client: PoolClient,
  { text, values = [], cell, signal }: Fetch,
): AsyncGenerator<CellBatch> {
  const question = text.trim().replace(/(;|\s|--[^\n]*$)+$/, '')
  await declare(client, question, values)
  const shape = cell === undefined ? null : await shorten(client, question, { values, cell })
  const size = shape?.size ?? batchSize
  for (let first = true; ; first = false) {
    signal?.throwIfAborted()
    const { columns, rows } = await askOnce(client, `fetch ${size} from question`)
    // The first batch is returned even if it is empty, because callers need its columns.
    if (rows.length > 0 || first) {
      yield shape === null ? { columns, rows } : { columns: shape.columns, rows: shape.cut(rows) }
    }
    if (rows.length < size) return
  }
}

async function declare(client: PoolClient, question: string, values: Values): Promise<void> {
  await client.query({
    text: `declare question no scroll cursor for ${question}`,
    values: [...values],
    // Allows only one statement: the server rejects a second statement after a semicolon.
    queryMode: 'extended',
  } as pg.QueryConfig)
}

const mostCharacters = 8_000_000

/** Repeats the statement with cells truncated by the server, so that huge cells never reach this process. */
async function shorten(
  client: PoolClient,
  question: string,
  { values, cell }: { readonly values: Values; readonly cell: number },
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
    const list = names.join(', ')
    const text = `select ${shown.join(', ')} from (${question}\n) as asked (${list})`
    await declare(client, text, values)
  }
  return { columns, cut, size: Math.min(batchSize, size) }
}

const asText = { getTypeParser: () => (value: string) => value }

export async function askOnce(client: PoolClient, text: string, values: Values = []) {
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

export type ColumnKind = 'number' | 'boolean' | 'instant' | 'json' | 'list' | 'text'

export type CellColumn = CellBatch['columns'][number]

const bigintList = 1016
const types = pg.types.builtins

/** Server types by kind. Columns of any other type are treated as text. */
const kinds: readonly (readonly [ColumnKind, readonly number[]])[] = [
  ['boolean', [types.BOOL]],
  ['number', [types.INT8, types.INT2, types.INT4, types.FLOAT4, types.FLOAT8, types.NUMERIC]],
  ['json', [types.JSON, types.JSONB]],
  ['instant', [types.TIMESTAMPTZ]],
  // Array types, for which the driver defines no names.
  ['list', [1000, 1005, 1007, 1009, 1015, bigintList, 1021, 1022, 1231, 2951]],
]

export function kindOfCell(type: number): ColumnKind {
  return kinds.find(([, some]) => some.includes(type))?.[0] ?? 'text'
}

/** An array item as parsed by the driver, which supports fewer types than the server. */
type Listed = string | number | boolean | null

const readList = pg.types.getTypeParser as (type: number) => (text: string) => readonly Listed[]

export function listIn(text: string, type: number): readonly Listed[] {
  return readList(type)(text)
}

export function jsonValue(text: string | null, { kind, type }: CellColumn): unknown {
  if (text === null) return null
  switch (kind) {
    case 'number': {
      const number = Number(text)
      // JSON has no NaN or infinity, and JSON readers drop digits of long numbers.
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
      return listIn(text, type).map((item) =>
        type === bigintList && typeof item === 'string' ? Number(item) : item,
      )
    case 'text':
      return text
    default:
      throw unhandled('kind', kind)
  }
}
