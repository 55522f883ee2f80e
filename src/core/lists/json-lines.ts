// Converts JSON lines to CSV lines: a header with the names of the fields, then one line for each JSON value.

import { Misuse } from '../../base/errors.ts'
import { isQueryName, readHeader, show } from './columns.ts'
import { decode } from './encoding.ts'
import { csvCell } from './sheet.ts'
import { peek, type Source } from './source.ts'

const headSize = 64 * 1024
const longestLine = 1024 * 1024

/** Converts a source of JSON lines to CSV, and returns any other source unchanged. */
export async function readJsonLines(source: Source): Promise<Source> {
  const { head, whole, all } = await peek(source.chunks, headSize)
  const plain = { ...source, chunks: all }
  const mark = head.indexOf('\ufeff') === 0 ? 3 : 0
  const lines = head.toString('utf8', mark).split('\n')
  if (!whole) lines.pop()
  const values = lines.map(valueOf)
  const first = values.find((value) => value !== undefined)
  // If the file extension identifies JSON lines, the query field may have any name.
  const named = /\.(?:jsonl|ndjson)(?:\.gz)?$/i.test(source.sheet ?? source.shown)
  const isList = named
    ? typeof first === 'string' || isObject(first)
    : [...fieldsOf(first)].some(([name, value]) => typeof value === 'string' && isQueryName(name))
  if (!isList) return plain
  const names = [...new Set(values.flatMap((value) => [...fieldsOf(value, 'query').keys()]))]
  return { ...plain, firstLine: 0, chunks: csvLines(plain, { names, mark }) }
}

function valueOf(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Treats a bare string as the field that `query` names. */
function fieldsOf(value: unknown, query?: string): ReadonlyMap<string, unknown> {
  if (typeof value === 'string' && query !== undefined) return new Map([[query, value]])
  return new Map(isObject(value) ? Object.entries(value) : [])
}

async function* csvLines(
  { chunks, shown }: Source,
  { names, mark }: { readonly names: readonly string[]; readonly mark: number },
): AsyncGenerator<Buffer> {
  yield Buffer.from(`${names.map(csvCell).join(',')}\n`)
  const query = names.find(isQueryName) ?? 'query'
  let line = 0
  const rowOf = (text: string): string => {
    line++
    if (text.trim() === '') return '\n'
    return `${cellsOf(text, names, { query, at: `${shown}:${line}` })}\n`
  }
  let rest = ''
  const utf8 = { label: 'utf-8', mark, how: 'given' } as const
  for await (const text of decode(chunks, utf8, { shown, json: true })) {
    const lines = (rest + text.toString()).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > longestLine) {
      throw new Misuse(
        `${shown}:${line + lines.length + 1}: expected lines of a query list, got a line longer than ${longestLine / 1024 / 1024} MiB; check that this is the right file`,
      )
    }
    if (lines.length > 0) yield Buffer.from(lines.map(rowOf).join(''))
  }
  if (rest !== '') yield Buffer.from(rowOf(rest))
}

function cellsOf(
  text: string,
  names: readonly string[],
  { query, at }: { readonly query: string; readonly at: string },
): string {
  const value = valueOf(text)
  if (typeof value !== 'string' && !isObject(value)) {
    throw new Misuse(`${at}: expected a JSON object or string, got ${show(text)}; correct the line`)
  }
  const fields = fieldsOf(value, query)
  const nested = [...fields].find(([name, held]) => isQueryName(name) && typeof held === 'object')
  if (nested !== undefined && nested[1] !== null) {
    throw new Misuse(
      `${at}: expected text in ${show(nested[0])}, got ${show(JSON.stringify(nested[1]))}; write one query on each line`,
    )
  }
  const late = [...fields.keys()].find((name) => !names.includes(name) && hasMeaning(name))
  if (late !== undefined) {
    throw new Misuse(
      `${at}: the first lines do not contain the field ${show(late)}; add this field to the first line with the value null`,
    )
  }
  return names.map((name) => csvCell(textIn(fields.get(name)))).join(',')
}

function hasMeaning(name: string): boolean {
  const reading = readHeader(['query', name], undefined)
  return reading.kind !== 'columns' || reading.columns.others.length > 0
}

function textIn(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(textIn).join(',')
  return typeof value === 'string' ? value : JSON.stringify(value)
}
