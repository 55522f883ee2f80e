// Applies `--map` and `--weight-column` to the columns of a list.

import { Misuse } from '../../base/errors.ts'
import {
  columnNumber,
  type Columns,
  columnsOf,
  type ListColumn,
  type Mapping,
  plainName,
  show,
} from './columns.ts'
import type { ListOptions } from './trial.ts'

const roleWords: Readonly<Record<string, Mapping['role'] | 'query'>> = {
  q: 'query',
  query: 'query',
  keyword: 'query',
  location: 'location',
  place: 'location',
  hl: 'hl',
  language: 'hl',
  gl: 'gl',
  country: 'gl',
  num: 'num',
  device: 'device',
  priority: 'priority',
  weight: 'weight',
  volume: 'weight',
  tags: 'tags',
  target: 'target',
  cpc: 'cpc',
  difficulty: 'difficulty',
  every: 'every',
  max_age: 'max_age',
  none: null,
}

/** Parses mappings such as `Country=gl`; `Phrase=query` selects the query column. */
export function readMaps(typed: readonly string[]): Pick<ListOptions, 'column' | 'map'> {
  const map: Mapping[] = []
  let column: string | undefined
  for (const text of typed) {
    const at = text.lastIndexOf('=')
    const name = text.slice(0, Math.max(at, 0)).trim()
    const role =
      roleWords[
        text
          .slice(at + 1)
          .trim()
          .toLowerCase()
      ]
    if (name === '' || role === undefined) {
      throw new Misuse(
        `expected --map like "Country=gl", with one of ${Object.keys(roleWords).join(', ')} after the sign, got ${JSON.stringify(text)}`,
      )
    }
    if (role === 'query') column = name
    else map.push({ column: name, role })
  }
  return { column, map }
}

/** Columns of a header, with the user's mappings replacing the meanings of their names. */
export function mapColumns(
  { query, others, ...rest }: Columns,
  header: readonly string[],
  { shown, map = [], weightColumn }: ListOptions & { readonly shown: string },
): Columns {
  const mappings = [...map, ...weightMapping(weightColumn)]
  const noWeight = weightColumn?.toLowerCase() === 'none'
  if (mappings.length === 0 && !noWeight) return { query, others, ...rest }
  let found = others.filter(({ role }) => !(noWeight && role === 'weight'))
  for (const { column, role } of mappings) {
    const index = indexOf(column, header, { shown, width: rest.width })
    if (index === query) {
      throw new Misuse(
        `expected --map of another column than that of the queries, got ${show(column)}`,
      )
    }
    found = found.filter(
      (other) => other.index !== index && (role === 'tags' || other.role !== role),
    )
    if (role !== null) found.push({ role, index, ...askedFor(role) })
  }
  const columns = columnsOf(query, found, header)
  return { ...columns, width: rest.width }
}

function askedFor(role: ListColumn['role']): Pick<ListColumn, 'several' | 'tool' | 'asked'> {
  const byName = role === 'gl' || role === 'hl' || role === 'cpc' || role === 'difficulty'
  return { several: false, asked: true, ...(byName ? { tool: true } : {}) }
}

function weightMapping(name: string | undefined): Mapping[] {
  if (name === undefined || name.toLowerCase() === 'none') return []
  return [{ column: name, role: 'weight' }]
}

function indexOf(
  column: string,
  header: readonly string[],
  { shown, width }: { shown: string; width: number },
): number {
  const named = header.findIndex(
    (cell) => cell.trim() === column.trim() || plainName(cell) === plainName(column),
  )
  if (named >= 0) return named
  const number = columnNumber(column)
  if (number !== undefined && number < width) return number
  const names =
    header.length === 0 ? `columns 1 to ${width}` : header.slice(0, 20).map(show).join(', ')
  throw new Misuse(
    `expected a column ${show(column)} in ${shown}, got ${names}; correct --map or --weight-column`,
  )
}
