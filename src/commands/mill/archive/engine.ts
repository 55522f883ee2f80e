import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { Misuse, reasonOf } from '../../../shared/errors.ts'
import type { FiledColumn } from '../../../store/archive/enter.ts'
import { chunksOf } from './chunks.ts'
import { copiedCell, filedCell, jsonMacro, listedCells, literal, quoted, readAs } from './cells.ts'
import { unwritable } from './disk.ts'
import { clearScratch, makeScratch } from './scratch.ts'
import { Spool } from './spool.ts'

const settings = {
  // One at a time, in the order in which the server gave the rows.
  threads: '1',
  // A ceiling, for the longest bodies; nights take a small part of it, as nothing that was read is kept.
  memory_limit: '1GB',
  enable_external_file_cache: 'false',
  // What is free goes back to the system at once: otherwise memory grows from day to day.
  allocator_flush_threshold: '8MB',
  // What does not fit is refused, and nothing is written where nobody looks.
  temp_directory: '',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  allow_community_extensions: 'false',
}

// What a reader can skip as a whole, and what is in memory at once.
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

  /** The rows of a file as JSON lists of texts, a line each. */
  async *lists(path: string, columns: readonly FiledColumn[]): AsyncGenerator<Buffer> {
    const cells = columns.map((column) => copiedCell(column, quoted(column)))
    await this.#duck.run(jsonMacro)
    // JSON has no room for these signs: those around a line are the engine's, and no part of it.
    const format = `quote '\u0001', escape '\u0001', delim '\u0002'`
    for await (const bytes of this.#text(path, listedCells(cells), format)) {
      yield Buffer.from(bytes.filter((sign) => sign !== 1))
    }
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
