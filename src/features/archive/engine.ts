// Uses DuckDB to read and write the archive's files.

import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { codeOf, MillError, Misuse, reasonOf } from '../../base/errors.ts'
import type { CopiedRows, FiledColumn } from './copy.ts'

const settings = {
  // Several threads could change the row order.
  threads: '1',
  // The longest bodies fit within this limit. A typical night needs far less memory.
  memory_limit: '1GB',
  enable_external_file_cache: 'false',
  // Free memory is returned to the system immediately. Otherwise, memory use would grow with each archived day.
  allocator_flush_threshold: '8MB',
  // Without a temporary directory, excess data causes an error instead of filling an unmonitored folder.
  temp_directory: '',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  allow_community_extensions: 'false',
}

// Row group size. Readers can skip whole row groups, and keep only one row group in memory.
const groupBytes = 8_000_000
/** DuckDB's vector size, which is the minimum number of rows in a row group. */
const leastGroup = 2048
const mostGroup = 122_880

/** Converts the server's COPY output to Parquet files, and Parquet files to COPY input. */
export class ParquetEngine {
  readonly #instance: DuckDBInstance
  readonly #duck: DuckDBConnection
  readonly #folder: string
  readonly #drop = () => rmSync(this.#folder, { recursive: true, force: true })
  private constructor(instance: DuckDBInstance, duck: DuckDBConnection, folder: string) {
    this.#instance = instance
    this.#duck = duck
    this.#folder = folder
    // Ctrl-C ends the process without closing the engine.
    process.once('exit', this.#drop)
  }

  static async open(): Promise<ParquetEngine> {
    const duckdb = await loadDuck()
    const instance = await duckdb.DuckDBInstance.create(':memory:', settings)
    const duck = await instance.connect()
    await duck.run("set TimeZone = 'UTC'")
    const folder = await mkdtemp(join(tmpdir(), 'querymill-archive-')).catch((cause: unknown) => {
      throw unwritable(tmpdir(), cause, 'set TMPDIR to another folder')
    })
    return new ParquetEngine(instance, duck, folder)
  }

  close(): void {
    this.#duck.closeSync()
    this.#instance.closeSync()
    process.off('exit', this.#drop)
    this.#drop()
  }

  /** Opens the text file to convert next. The same file is overwritten each time, because deleting files is slow. */
  spool(): Spool {
    return new Spool(join(this.#folder, 'given.csv'))
  }

  /** Writes a complete text file as a Parquet file; overwrites an existing file. */
  async write(spool: Spool, columns: readonly FiledColumn[], path: string): Promise<void> {
    const shapes: string[] = []
    const cells: string[] = []
    for (const [at, column] of columns.entries()) {
      const { type, read = type, file } = filingOf(column)
      shapes.push(`'c${at}': '${read}'`)
      cells.push(`${file?.(`c${at}`) ?? `c${at}`} as ${quoted(column)}`)
    }
    const perGroup = Math.floor((spool.rows * groupBytes) / spool.bytes)
    const group = Math.min(mostGroup, Math.max(leastGroup, perGroup))
    // The buffer must hold the longest row. A larger buffer would waste memory.
    const longest = spool.longest + 1024
    try {
      await this.#duck.run(`
        copy (
          select ${cells.join(', ')}
          from read_csv(${place(spool.path)}, columns = {${shapes.join(', ')}}, auto_detect = false,
            header = false, delim = ',', quote = '"', escape = '"', new_line = '\\n', nullstr = '',
            allow_quoted_nulls = false, compression = 'none', parallel = false, strict_mode = true,
            max_line_size = ${longest}, buffer_size = ${Math.max(1_000_000, longest)})
        ) to ${literal(path)} (format parquet, compression zstd, compression_level 1, row_group_size ${group}, use_tmp_file false)`)
    } catch (cause) {
      throw unwritable(path, cause, 'name another folder')
    }
  }

  /**
   * Reads a file's rows in the format of `copy … to stdout (format csv, force_quote *)`. With `plain`, the text is a
   * third shorter, but can only be copied into a table. Only one file can be read at a time.
   */
  async *rows(
    path: string,
    columns: readonly FiledColumn[],
    quotes: 'quoted' | 'plain',
  ): AsyncGenerator<Buffer> {
    const text = join(this.#folder, 'read.csv')
    const cells = columns.map((column) => {
      const cell = quoted(column)
      return filingOf(column).copy?.(cell) ?? cell
    })
    const format = quotes === 'quoted' ? 'force_quote *' : "quote '\"'"
    try {
      await this.#duck.run(`
        copy (select ${cells.join(', ')} from read_parquet(${place(path)}, hive_partitioning = false))
        to ${literal(text)} (format csv, header false, ${format}, use_tmp_file false)`)
      yield* chunksOf(text)
    } catch (cause) {
      throw unwritable(text, cause, 'set TMPDIR to another folder')
    }
  }
}

export async function withEngine<T>(work: (engine: ParquetEngine) => Promise<T>): Promise<T> {
  const engine = await ParquetEngine.open()
  try {
    return await work(engine)
  } finally {
    engine.close()
  }
}

async function loadDuck() {
  try {
    return await import('@duckdb/node-api')
  } catch (cause) {
    throw new Misuse(
      `the package that reads and writes archive files could not be loaded: ${reasonOf(cause).split('\n')[0]}; run: npm install @duckdb/node-api`,
      { cause },
    )
  }
}

/** Escapes the wildcards in a path, so that the path names exactly one file. */
function place(path: string): string {
  return literal(path.replaceAll(/[*?[]/g, '[$&]'))
}

/** Representation of a PostgreSQL type in Parquet files, given as DuckDB types and SQL. */
interface Filing {
  readonly type: string
  /** DuckDB type for parsing the copied text (default: `type`). */
  readonly read?: string
  /** `file` converts a parsed value to a stored value, and `copy` converts a stored value to the server's COPY text. */
  readonly file?: (cell: string) => string
  readonly copy?: (cell: string) => string
}

/** SQL that replaces a substring. Checking for a backslash first is many times faster than always replacing. */
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
  // Values are declared as JSON but stored as text, so that long numbers keep their digits.
  json: { type: 'JSON' },
  jsonb: { type: 'JSON' },
  boolean: {
    type: 'BOOLEAN',
    copy: (cell) => `case when ${cell} then 't' when not ${cell} then 'f' end`,
  },
  // Text is written with doubled backslashes, and other data in hexadecimal after \x. The server accepts both formats.
  bytea: {
    type: 'BLOB',
    read: 'VARCHAR',
    file: (cell) =>
      `case when starts_with(${cell}, '\\x') then from_hex(${cell}[3:]) else encode(${changed(cell, '\\\\', '\\')}) end`,
    copy: (cell) => {
      const told = `try(decode(${cell}))`
      return `case when contains(${told}, chr(0)) is not false then '\\x' || lower(hex(${cell})) else ${changed(told, '\\', '\\\\')} end`
    },
  },
  'timestamp with time zone': {
    type: 'TIMESTAMPTZ',
    // Converting the value to a type without a time zone makes formatting many times faster.
    copy: (cell) =>
      `case when isfinite(${cell}) then make_timestamp(epoch_us(${cell}))::varchar || '+00' else ${cell}::varchar end`,
  },
}

/** Types without a Parquet equivalent are stored as the server's text, so that no digit is lost. */
function filingOf({ type }: FiledColumn): Filing {
  return filings[type] ?? { type: 'VARCHAR' }
}

function quoted({ name }: FiledColumn): string {
  return `"${name.replaceAll('"', '""')}"`
}

function literal(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}

/** A local file that collects text as it arrives, before the text is converted. */
export class Spool {
  readonly path: string
  readonly #file: number
  rows = 0
  bytes = 0
  longest = 0

  constructor(path: string) {
    this.path = path
    this.#file = openSync(path, 'w')
  }

  add({ bytes, rows, longest }: CopiedRows): void {
    try {
      for (let done = 0; done < bytes.length;) done += writeSync(this.#file, bytes, done)
    } catch (cause) {
      throw unwritable(this.path, cause, 'set TMPDIR to another folder')
    }
    this.rows += rows
    this.bytes += bytes.length
    this.longest = Math.max(this.longest, longest)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** Reads a file in chunks. Each chunk is valid only until the next chunk is read. */
export function* chunksOf(path: string): Generator<Buffer> {
  const file = openSync(path, 'r')
  const buffer = Buffer.allocUnsafeSlow(256 * 1024)
  try {
    for (let size = readSync(file, buffer); size > 0; size = readSync(file, buffer)) {
      yield buffer.subarray(0, size)
    }
  } finally {
    closeSync(file)
  }
}

const problems: Readonly<Record<string, string>> = {
  EACCES: 'no write permission',
  EPERM: 'no write permission',
  ENOSPC: 'no space left',
  EDQUOT: 'no space left',
  ENOTDIR: 'a path that uses a file as a folder',
  EEXIST: 'a file instead of a folder',
}

/** Error for a location that can't be written to. `instead` names the flag or setting that chooses another location. */
export function unwritable(
  path: string,
  cause: unknown,
  instead: 'name another folder' | 'set TMPDIR to another folder',
): unknown {
  // DuckDB reports system errors only as text.
  const full = /No space left|Disk quota/i.test(reasonOf(cause)) ? 'ENOSPC' : null
  const code = codeOf(cause) ?? full
  if (code === null || cause instanceof MillError) return cause
  const got = problems[code] ?? code
  return new Misuse(`expected ${path} to be writable, got ${got}; fix the problem, or ${instead}`, {
    cause,
  })
}
