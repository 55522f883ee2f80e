import type { FiledColumn } from '../../../store/archive/enter.ts'

/** How the values of a type stand in a Parquet file; in DuckDB's words. */
interface Filing {
  readonly type: string
  /** What the text that the server copies out is read as, where that is not the type itself. */
  readonly read?: string
  /** From what was read to what is filed, and from there to the text that the server would copy out. */
  readonly file?: (cell: string) => string
  readonly copy?: (cell: string) => string
}

/** Bytes as layouts before the third wrote them into the text that is summed up. */
const hexBytes = 'bytea as hex'
const hexed = (cell: string) => `'\\x' || lower(hex(${cell}))`

/** A text with one sign for another; looking for it first is many times as fast as changing nothing. */
function changed(text: string, from: string, to: string): string {
  return `case when contains(${text}, '\\') then replace(${text}, '${from}', '${to}') else ${text} end`
}

const filings: Readonly<Record<string, Filing>> = {
  bigint: { type: 'BIGINT' },
  integer: { type: 'INTEGER' },
  smallint: { type: 'SMALLINT' },
  uuid: { type: 'UUID' },
  date: { type: 'DATE' },
  text: { type: 'VARCHAR' },
  // Told to be JSON, and kept as the text that it is: long numbers keep their digits.
  json: { type: 'JSON' },
  jsonb: { type: 'JSON' },
  boolean: {
    type: 'BOOLEAN',
    copy: (cell) => `case when ${cell} then 't' when not ${cell} then 'f' end`,
  },
  // Text with each \ twice where they are text, \x and two digits each where they are not: the server reads both.
  bytea: {
    type: 'BLOB',
    read: 'VARCHAR',
    file: (cell) =>
      `case when starts_with(${cell}, '\\x') then from_hex(${cell}[3:]) else encode(${changed(cell, '\\\\', '\\')}) end`,
    copy: (cell) => {
      const told = `try(decode(${cell}))`
      return `case when contains(${told}, chr(0)) is not false then ${hexed(cell)} else ${changed(told, '\\', '\\\\')} end`
    },
  },
  [hexBytes]: { type: 'BLOB', copy: hexed },
  'timestamp with time zone': {
    type: 'TIMESTAMPTZ',
    // By way of a type without zones, which is written many times as fast.
    copy: (cell) =>
      `case when isfinite(${cell}) then make_timestamp(epoch_us(${cell}))::varchar || '+00' else ${cell}::varchar end`,
  },
}

/** Whatever has no type of its own in a file is the text that the server writes: no digit is lost. */
const text: Filing = { type: 'VARCHAR' }

/** The columns of a file, for the text that a layout sums up. */
export function summedColumns(
  version: number,
  columns: readonly FiledColumn[],
): readonly FiledColumn[] {
  if (version > 2) return columns
  return columns.map((column) => (column.type === 'bytea' ? { ...column, type: hexBytes } : column))
}

/** What a cell of copied text is read as. */
export function readAs({ type }: FiledColumn): string {
  const filing = filings[type] ?? text
  return filing.read ?? filing.type
}

/** From what was read to what stands in the file. */
export function filedCell({ type }: FiledColumn, cell: string): string {
  return filings[type]?.file?.(cell) ?? cell
}

/** From what stands in the file to the text that the server would copy out. */
export function copiedCell({ type }: FiledColumn, cell: string): string {
  return filings[type]?.copy?.(cell) ?? cell
}

const short: Readonly<Record<number, string>> = {
  8: '\\b',
  9: '\\t',
  10: '\\n',
  12: '\\f',
  13: '\\r',
}

function jsonSigns(): string {
  let cell = `replace(replace(t, '\\', '\\\\'), '"', '\\"')`
  for (let code = 1; code < 32; code++) {
    const sign = short[code] ?? `\\u${code.toString(16).padStart(4, '0')}`
    cell = `replace(${cell}, chr(${code}), '${sign}')`
  }
  return cell
}

/** A text as JavaScript writes it in JSON, by which layout 1 sums rows up. */
export const jsonMacro = `
  create or replace temp macro json_text(t) as
  case
    when t is null then 'null'
    when regexp_matches(t, '[\\x00-\\x1f"\\\\]') then '"' || ${jsonSigns()} || '"'
    else '"' || t || '"'
  end`

/** Cells as one JSON list. */
export function listedCells(cells: readonly string[]): string {
  return `'[' || concat_ws(',', ${cells.map((cell) => `json_text((${cell})::varchar)`).join(', ')}) || ']'`
}

/** A name of a column as DuckDB reads it. */
export function quoted({ name }: FiledColumn): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A text as DuckDB reads it. */
export function literal(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}
