import type pg from 'pg'
import type { PoolClient } from 'pg'
import { kindOfCell, type CellColumn } from './cells.ts'

/** Rows as Postgres writes their values; null is null. */
export interface CellBatch {
  readonly columns: readonly CellColumn[]
  readonly rows: readonly (readonly (string | null)[])[]
}

/** What is fetched, and how. */
interface Fetch {
  readonly text: string
  readonly values?: readonly (string | null)[]
  readonly cell?: number
  readonly signal?: AbortSignal
}

const batchSize = 2000

/** The rows of a question piece by piece. */
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
    // An answer without rows still has columns.
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
    // One statement only: a second one behind a semicolon is refused by the server.
    queryMode: 'extended',
  } as pg.QueryConfig)
}

// How many characters one batch may hold.
const mostCharacters = 8_000_000

/** Asks the question again with its cells cut: one cell of a gigabyte must not become one here. */
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

/** The rows of one statement. */
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
