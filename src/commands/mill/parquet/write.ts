import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import type { CellBatch } from '../../../store/analysis/fetch.ts'
import type { CellColumn } from '../../../store/analysis/cells.ts'
import { parquetColumn, type ParquetColumn } from './types.ts'

// What a reader can skip as a whole, and what is in memory at once.
const groupRows = 20_000
// Bodies are long: their group is full earlier.
const groupCharacters = 8_000_000

/** Rows as one Parquet file, row group by row group: memory stays the same however many there are. */
export async function* writeParquet(batches: AsyncIterable<CellBatch>): AsyncGenerator<Uint8Array> {
  let file: ParquetDraft | null = null
  for await (const { columns, rows } of batches) {
    file ??= new ParquetDraft(columns)
    file.add(rows)
    if (file.full) yield file.takeGroup()
  }
  if (file === null) return
  if (file.rows > 0) yield file.takeGroup()
  yield file.takeEnd()
}

/** A Parquet file in the making: it holds one row group at a time, and gives its bytes away. */
export class ParquetDraft {
  readonly #columns: readonly ParquetColumn[]
  readonly #bytes = new ByteWriter()
  readonly #writer: ParquetWriter
  #data: unknown[][]
  #characters = 0

  constructor(columns: readonly CellColumn[]) {
    this.#columns = columns.map(parquetColumn)
    this.#data = columns.map(() => [])
    const schema = [this.#root, ...this.#columns.flatMap((column) => column.schema)]
    this.#writer = new ParquetWriter({ writer: this.#bytes, schema, createdBy: 'querymill' })
  }

  get #root() {
    return { name: 'root', num_children: this.#columns.length }
  }

  get rows(): number {
    return this.#data[0]?.length ?? 0
  }

  /** True: the group is to be taken. */
  get full(): boolean {
    return this.rows >= groupRows || this.#characters >= groupCharacters
  }

  add(rows: CellBatch['rows']): void {
    for (const [index, column] of this.#columns.entries()) {
      const values = this.#data[index]
      for (const row of rows) {
        const text = row[index] ?? null
        values?.push(text === null ? null : column.read(text))
        this.#characters += text?.length ?? 0
      }
    }
  }

  takeGroup(): Uint8Array {
    const columnData = this.#columns.map(({ name }, index) => ({
      name,
      data: this.#data[index] ?? [],
    }))
    // It gives a promise only where what it writes to does.
    void this.#writer.write({ columnData, rowGroupSize: groupRows * 2 })
    this.#data = this.#columns.map(() => [])
    this.#characters = 0
    return this.#take()
  }

  takeEnd(): Uint8Array {
    this.#writer.schema = [this.#root, ...this.#columns.flatMap((column) => column.said)]
    void this.#writer.finish()
    return this.#take()
  }

  /** What was written since the last time; where it stands in the file goes on. */
  #take(): Uint8Array {
    const bytes = this.#bytes.getBytes().slice()
    this.#bytes.index = 0
    return bytes
  }
}
