// DuckDB, as the archive uses it.

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { Misuse, reasonOf } from '../../base/errors.ts'
import type { FiledColumn } from './copy.ts'
import { chunksOf, clearScratch, makeScratch, Spool, unwritable } from './scratch.ts'

const settings = {
  // One at a time, in the order in which the server gave the rows.
  threads: '1',
  // A ceiling, for the longest bodies; nights take a small part of it, as nothing that was read is kept.
  memory_limit: '1GB',
  enable_external_file_cache: 'false',
  // Free memory goes back to the system at once: otherwise it grows from day to day.
  allocator_flush_threshold: '8MB',
  // Too much data is an error: nothing spills into a folder that nobody watches.
  temp_directory: '',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  allow_community_extensions: 'false',
}

// Size of a row group, which readers skip as a whole and which is in memory at once.
const groupBytes = 8_000_000
/** The engine's own measure of rows: a group has no fewer. */
const leastGroup = 2048
const mostGroup = 122_880

/** Turns what the server copies out into Parquet files, and such files into what the server copies in. */
export class ParquetEngine {
  readonly #instance: DuckDBInstance
  readonly #duck: DuckDBConnection
  readonly #folder: string
  /** Texts that were read, to be written over: file systems are slow to forget files. */
  readonly #free: string[] = []
  #texts = 0

  private constructor(instance: DuckDBInstance, duck: DuckDBConnection, folder: string) {
    this.#instance = instance
    this.#duck = duck
    this.#folder = folder
  }

  static async open(): Promise<ParquetEngine> {
    const { DuckDBInstance: Instance } = await loadDuck()
    await clearScratch()
    const instance = await Instance.create(':memory:', settings)
    const duck = await instance.connect()
    await duck.run("set TimeZone = 'UTC'")
    return new ParquetEngine(instance, duck, await makeScratch())
  }

  async close(): Promise<void> {
    this.#duck.closeSync()
    this.#instance.closeSync()
    await rm(this.#folder, { recursive: true, force: true })
  }

  /** Begins a text that is to become a file. */
  spool(): Spool {
    const path = this.#take()
    return new Spool(path, () => this.#free.push(path))
  }

  /** Writes a whole text as a Parquet file, over whatever lies at its path. */
  async write(spool: Spool, columns: readonly FiledColumn[], path: string): Promise<void> {
    const shapes = columns.map((column, at) => `${literal(`c${at}`)}: ${literal(readAs(column))}`)
    const cells = columns.map((column, at) => `${filedCell(column, `c${at}`)} as ${quoted(column)}`)
    const perGroup = Math.floor((spool.rows * groupBytes) / spool.bytes)
    const group = Math.min(mostGroup, Math.max(leastGroup, perGroup))
    // The longest row has to fit; more is memory that nobody uses.
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
    } finally {
      spool.drop()
    }
  }

  /** The rows of a file as `copy … to stdout (format csv, force_quote *)` would write them. */
  rows(path: string, columns: readonly FiledColumn[]): AsyncGenerator<Buffer> {
    const cells = columns.map((column) => copiedCell(column, quoted(column)))
    return this.#text(path, cells.join(', '), 'force_quote *')
  }

  /** The same rows for who only copies them in: a third of their text would be quotes. */
  plainRows(path: string, columns: readonly FiledColumn[]): AsyncGenerator<Buffer> {
    const cells = columns.map((column) => copiedCell(column, quoted(column)))
    return this.#text(path, cells.join(', '), "quote '\"'")
  }

  async *#text(path: string, cells: string, format: string): AsyncGenerator<Buffer> {
    const text = this.#take()
    try {
      await this.#duck.run(`
        copy (select ${cells} from read_parquet(${place(path)}, hive_partitioning = false))
        to ${literal(text)} (format csv, header false, ${format}, use_tmp_file false)`)
      yield* chunksOf(text)
    } catch (cause) {
      throw unwritable(text, cause, 'set TMPDIR to another folder')
    } finally {
      this.#free.push(text)
    }
  }

  #take(): string {
    return this.#free.pop() ?? join(this.#folder, `${++this.#texts}.csv`)
  }
}

/** Opens the engine, does something with it, and closes it. */
export async function withEngine<T>(work: (engine: ParquetEngine) => Promise<T>): Promise<T> {
  const engine = await ParquetEngine.open()
  try {
    return await work(engine)
  } finally {
    await engine.close()
  }
}

async function loadDuck(): Promise<{ readonly DuckDBInstance: typeof DuckDBInstance }> {
  try {
    return await import('@duckdb/node-api')
  } catch (cause) {
    throw new Misuse(
      `expected the package that reads and writes files of the archive, got ${reasonOf(cause).split('\n')[0]}; type: npm install @duckdb/node-api`,
      { cause },
    )
  }
}

/** A path to read: it names one file, whatever signs are in it. */
function place(path: string): string {
  return literal(path.replaceAll(/[*?[]/g, '[$&]'))
}

/** Representation of a type in Parquet files, in DuckDB's terms. */
interface Filing {
  readonly type: string
  /** DuckDB type that reads the copied text, when it differs from the type itself. */
  readonly read?: string
  /** From what was read to what is filed, and from there to the text that the server would copy out. */
  readonly file?: (cell: string) => string
  readonly copy?: (cell: string) => string
}

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
      return `case when contains(${told}, chr(0)) is not false then '\\x' || lower(hex(${cell})) else ${changed(told, '\\', '\\\\')} end`
    },
  },
  'timestamp with time zone': {
    type: 'TIMESTAMPTZ',
    // By way of a type without zones, which is written many times as fast.
    copy: (cell) =>
      `case when isfinite(${cell}) then make_timestamp(epoch_us(${cell}))::varchar || '+00' else ${cell}::varchar end`,
  },
}

/** Whatever has no type of its own in a file is the text that the server writes: no digit is lost. */
const textFiling: Filing = { type: 'VARCHAR' }

/** SQL that reads a cell of copied text. */
function readAs({ type }: FiledColumn): string {
  const filing = filings[type] ?? textFiling
  return filing.read ?? filing.type
}

/** From what was read to what stands in the file. */
function filedCell({ type }: FiledColumn, cell: string): string {
  return filings[type]?.file?.(cell) ?? cell
}

/** From what stands in the file to the text that the server would copy out. */
function copiedCell({ type }: FiledColumn, cell: string): string {
  return filings[type]?.copy?.(cell) ?? cell
}

/** A name of a column as DuckDB reads it. */
function quoted({ name }: FiledColumn): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A text as DuckDB reads it. */
function literal(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}
