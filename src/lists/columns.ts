import { isBlockTitle, plainName, readMeaning, type ListColumn } from './names.ts'
import { findToolColumns } from './tool-columns.ts'

/** Where a record holds what. */
export interface Columns {
  readonly query: number
  readonly others: readonly ListColumn[]
  /** Cells that a row must have for its query to be known. */
  readonly needed: number
  /** Cells of the header. */
  readonly width: number
  /** Header cells that are none of ours, each named once. */
  readonly ignored: readonly string[]
}

/** How a list is written: found by trial on its beginning, then kept to the end. */
export interface Dialect {
  /** Null: one query a line. */
  readonly delimiter: string | null
  /** Number of the header's line; null when there is none. */
  readonly headerLine: number | null
  readonly header: readonly string[]
  readonly columns: Columns
}

/** The columns that shape a request. */
export const requestRoles = ['location', 'hl', 'gl', 'num', 'device'] as const

/** A header, as far as it can be told from its cells alone. */
export type HeaderReading =
  | { readonly kind: 'columns'; readonly columns: Columns }
  | { readonly kind: 'none' }
  | { readonly kind: 'unclear'; readonly problem: string }

/** Reads a record as a header; `wanted` is the person's own name for the column of queries. */
export function readHeader(cells: readonly string[], wanted: string | undefined): HeaderReading {
  const meanings = cells.map((cell) => readMeaning(cell))
  const queries = queryColumns(cells, wanted)
  const [query] = queries
  if (query === undefined) return { kind: 'none' }
  if (queries.length > 1) {
    const found = queries.map((index) => `${show(cells[index] ?? '')} (${index + 1})`).join(', ')
    return { kind: 'unclear', problem: `expected one column of queries, got ${found}` }
  }
  const others: ListColumn[] = []
  for (const [index, meaning] of meanings.entries()) {
    if (meaning === undefined || meaning.role === 'query' || index === query) continue
    const twice = others.some(({ role }) => role === meaning.role)
    if (twice && meaning.role !== 'tags') {
      return { kind: 'unclear', problem: `expected one column ${meaning.role}, got two` }
    }
    others.push({ role: meaning.role, index, several: meaning.several })
  }
  const taken = {
    indexes: new Set([query, ...others.map(({ index }) => index)]),
    roles: new Set(others.map(({ role }) => role)),
  }
  others.push(...findToolColumns(cells, taken))
  return { kind: 'columns', columns: columnsOf(query, others, cells) }
}

/** The columns of a record, with what follows from them. */
export function columnsOf(
  query: number,
  others: readonly ListColumn[],
  cells: readonly string[],
): Columns {
  const used = new Set([query, ...others.map(({ index }) => index)])
  const ignored = [
    ...new Set(cells.filter((cell, index) => !used.has(index) && cell.trim() !== '')),
  ]
  const needed = Math.max(query, ...others.filter(shapesRequest).map(({ index }) => index)) + 1
  return { query, others, needed, width: cells.length, ignored }
}

function shapesRequest({ role }: ListColumn): boolean {
  return requestRoles.some((name) => name === role)
}

function queryColumns(cells: readonly string[], wanted: string | undefined): number[] {
  const wantedIndex = columnNumber(wanted)
  if (wantedIndex !== undefined) return wantedIndex < cells.length ? [wantedIndex] : []
  const name = wanted === undefined ? undefined : plainName(wanted)
  return cells.flatMap((cell, index) => {
    const hit =
      name === undefined
        ? readMeaning(cell)?.role === 'query'
        : plainName(cell) === name || cell.trim() === wanted?.trim()
    return hit ? [index] : []
  })
}

/** `--column 2` counts from 1. */
export function columnNumber(wanted: string | undefined): number | undefined {
  return wanted !== undefined && /^[1-9]\d{0,3}$/.test(wanted) ? Number(wanted) - 1 : undefined
}

/** The columns of a list whose rows hold a query first and are not described by a header. */
export function plainColumns(query: number, width: number): Columns {
  return { query, others: [], needed: query + 1, width, ignored: [] }
}

/** True for the title of a block of related queries, alone or before the name of its numbers. */
export function isTitle(cells: readonly string[]): boolean {
  return cells.length <= 2 && isBlockTitle(cells[0] ?? '') && !/\d/.test(cells[1] ?? '')
}

/** A cell as a message shows it. */
export function show(cell: string): string {
  const text = cell.trim()
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
}
