import { asyncBufferFromFile, parquetMetadataAsync, parquetRead } from 'hyparquet'

/** Rows of a file as Postgres writes their values; null is null. */
export type FiledRows = readonly (readonly (string | null)[])[]

// The library's own reader of text takes a byte order mark for no part of it.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const textOf = (bytes: Uint8Array) => decoder.decode(bytes)

/** Values as text: the library's own would end at the millisecond, and parse JSON into numbers that lose digits. */
const parsers = {
  stringFromBytes: textOf,
  jsonFromBytes: textOf,
  timestampFromMicroseconds: instantOf,
  dateFromDays: (days: number) => new Date(days * 86_400_000).toISOString().slice(0, 10),
  uuidFromBytes,
}

/** The rows of a Parquet file that this program wrote, row group by row group. */
export async function* readParquet(path: string): AsyncGenerator<FiledRows> {
  const file = await asyncBufferFromFile(path)
  const metadata = await parquetMetadataAsync(file)
  let rowStart = 0
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows)
    let rows: unknown[][] = []
    const onComplete = (read: unknown[][]) => {
      rows = read
    }
    await parquetRead({ file, metadata, rowStart, rowEnd, utf8: false, parsers, onComplete })
    yield rows.map((row) => row.map(cellOf))
    rowStart = rowEnd
  }
}

function cellOf(value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return value ? 't' : 'f'
  if (value instanceof Uint8Array) {
    return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`
  }
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  throw new TypeError(`expected a value that this program writes, got ${typeof value}`)
}

/** As a server writes an instant in UTC: no zero at the end of a fraction. */
function instantOf(micros: bigint): string {
  const fraction = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n
  const seconds = (micros - fraction) / 1_000_000n
  const text = new Date(Number(seconds) * 1000).toISOString().slice(0, 19).replace('T', ' ')
  const digits = String(fraction).padStart(6, '0').replace(/0+$/, '')
  return `${text}${digits === '' ? '' : `.${digits}`}+00`
}

function uuidFromBytes(bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined) return undefined
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
