// Writes rows as a Parquet file, one row group at a time.
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { type CellBatch, type CellColumn, listIn } from '../../base/database/fetch.ts'

// Number of rows per row group. A reader can skip groups, but holds each group that it reads in memory.
const groupRows = 20_000
// A group also ends after this many characters, because bodies are long.
const groupCharacters = 8_000_000

export async function* writeParquet(batches: AsyncIterable<CellBatch>): AsyncGenerator<Uint8Array> {
  let draft: ReturnType<typeof openDraft> | null = null
  for await (const { columns, rows } of batches) {
    draft ??= openDraft(columns)
    if (draft.add(rows)) yield draft.takeGroup()
  }
  if (draft === null) return
  yield draft.takeGroup()
  yield draft.takeEnd()
}

/** Begins a Parquet file that is built one row group at a time. `takeGroup` and `takeEnd` return bytes. */
function openDraft(cellColumns: readonly CellColumn[]) {
  const columns = cellColumns.map(parquetColumn)
  const root = { name: 'root', num_children: columns.length }
  const bytes = new ByteWriter()
  const schema = [root, ...columns.flatMap((column) => column.schema)]
  const writer = new ParquetWriter({ writer: bytes, schema, createdBy: 'querymill' })
  let group = columns.map(({ name }) => ({ name, data: [] as unknown[] }))
  let characters = 0
  /** Returns the bytes written since the last call. File offsets continue. */
  const take = (): Uint8Array => {
    const written = bytes.getBytes().slice()
    bytes.index = 0
    return written
  }
  return {
    /** Adds rows, and returns true if the group should be written. */
    add(rows: CellBatch['rows']): boolean {
      for (const [index, column] of columns.entries()) {
        for (const row of rows) {
          const text = row[index] ?? null
          group[index]?.data.push(text === null ? null : column.read(text))
          characters += text?.length ?? 0
        }
      }
      return (group[0]?.data.length ?? 0) >= groupRows || characters >= groupCharacters
    },
    takeGroup(): Uint8Array {
      // No `await` is needed, because the writer returns a promise only for an asynchronous output.
      void writer.write({ columnData: group, rowGroupSize: groupRows * 2 })
      group = columns.map(({ name }) => ({ name, data: [] }))
      characters = 0
      return take()
    },
    takeEnd(): Uint8Array {
      writer.schema = [root, ...columns.flatMap((column) => column.said)]
      void writer.finish()
      return take()
    },
  }
}

type SchemaElement = ParquetWriter['schema'][number]

type Type = Omit<SchemaElement, 'name' | 'repetition_type'>

interface Kind {
  readonly type: Type
  /** Logical type in the footer, if not `type`. JSON is written as text, because the library would lose digits. */
  readonly said?: Type
  readonly read: (text: string) => unknown
}

const textKind: Kind = {
  type: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  read: (given) => given,
}
const integer: Kind = { type: { type: 'INT32' }, read: Number }
const long: Kind = { type: { type: 'INT64' }, read: BigInt }
// A `numeric` value can have any number of digits and any scale. Readers need a number for calculations, so a `numeric`
// value is written as a double.
const double: Kind = { type: { type: 'DOUBLE' }, read: Number }
const json: Kind = { ...textKind, said: { type: 'BYTE_ARRAY', converted_type: 'JSON' } }
const boolean: Kind = { type: { type: 'BOOLEAN' }, read: (given) => given === 't' }

const kinds: Readonly<Record<number, Kind>> = {
  16: boolean,
  // The server writes bytea as \\x followed by two digits per byte.
  17: { type: { type: 'BYTE_ARRAY' }, read: (given) => Buffer.from(given.slice(2), 'hex') },
  20: long,
  21: integer,
  23: integer,
  114: json,
  700: double,
  701: double,
  1082: { type: { type: 'INT32', converted_type: 'DATE' }, read: readDate },
  1184: {
    type: {
      type: 'INT64',
      converted_type: 'TIMESTAMP_MICROS',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
    },
    read: readInstant,
  },
  1700: double,
  2950: {
    type: { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, logical_type: { type: 'UUID' } },
    // The library's own conversion is slower, because it handles one digit at a time.
    read: (given) => Buffer.from(given.replaceAll('-', ''), 'hex'),
  },
  3802: json,
}

/** Element type of each array type. */
const things: Readonly<Record<number, Kind>> = {
  1000: { ...boolean, read: (given) => given === 'true' },
  1005: integer,
  1007: integer,
  1009: textKind,
  1015: textKind,
  1016: long,
  1021: double,
  1022: double,
  1231: double,
  2951: textKind,
}

/** Returns the Parquet column for a result column. Types that Parquet lacks are written as text. */
function parquetColumn({ name, type }: CellColumn) {
  const thing = things[type]
  if (thing === undefined) {
    const kind = kinds[type] ?? textKind
    const as = (said: Type): SchemaElement[] => [{ name, ...said, repetition_type: 'OPTIONAL' }]
    return { name, schema: as(kind.type), said: as(kind.said ?? kind.type), read: kind.read }
  }
  const schema: SchemaElement[] = [
    { name, converted_type: 'LIST', num_children: 1, repetition_type: 'OPTIONAL' },
    { name: 'list', num_children: 1, repetition_type: 'REPEATED' },
    { name: 'element', ...thing.type, repetition_type: 'OPTIONAL' },
  ]
  const read = (given: string) =>
    listIn(given, type).map((value) => (value === null ? null : thing.read(`${value}`)))
  return { name, schema, said: schema, read }
}

/** Returns the number of days since 1970, or null for infinity. */
function readDate(given: string): number | null {
  const time = Date.parse(`${given}T00:00:00Z`)
  return Number.isNaN(time) ? null : time / 86_400_000
}

/** Returns a time in microseconds since 1970 (the server's resolution), or null for infinity. */
function readInstant(given: string): bigint | null {
  const match = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?([+-]\d\d)(?::?(\d\d))?$/.exec(
    given,
  )
  if (match === null) return null
  const [, day, time, fraction = '', hours, minutes = '00'] = match
  const seconds = Date.parse(`${day}T${time}${hours}:${minutes}`)
  return BigInt(seconds) * 1000n + BigInt(fraction.padEnd(6, '0'))
}
