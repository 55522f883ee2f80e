// Builds arrays in PostgreSQL's binary format. The text format would double the cost of storing an answer. The driver
// sends Buffer parameters in binary format.

const headerBytes = 20
const jsonbVersion = 1

interface Kind<T> {
  readonly name: string
  readonly oid: number
  /** Reserves space for an item, writes it at the column's `start`, and returns its size. */
  write(column: ArrayColumn<T>, value: T): number
}

export const kinds = {
  boolean: kindOf<boolean>('boolean', 16, (column, value) => {
    column.reserve(1)[column.start] = value ? 1 : 0
    return 1
  }),
  bytea: kindOf<Buffer>('bytea', 17, (column, value) =>
    value.copy(column.reserve(value.length), column.start),
  ),
  /** Whole numbers that JavaScript can represent exactly. */
  bigint: kindOf<number>('bigint', 20, (column, value) => {
    const bytes = column.reserve(8)
    const high = Math.floor(value / 2 ** 32)
    setInt32(bytes, column.start, high)
    return 4 + setInt32(bytes, column.start + 4, value - high * 2 ** 32)
  }),
  integer: kindOf<number>('integer', 23, (column, value) =>
    setInt32(column.reserve(4), column.start, value),
  ),
  text: kindOf<string>('text', 25, (column, value) =>
    column.reserve(value.length * 3).write(value, column.start, 'utf8'),
  ),
  double: kindOf<number>('float8', 701, (column, value) => {
    column.reserve(8).writeDoubleBE(value, column.start)
    return 8
  }),
  /** UUIDs from `idBytes`: strings of 16 characters, one for each byte. */
  uuid: kindOf<string>('uuid', 2950, (column, value) => {
    const bytes = column.reserve(16)
    for (let index = 0; index < 16; index += 1) {
      bytes[column.start + index] = value.charCodeAt(index)
    }
    return 16
  }),
  jsonb: kindOf<unknown>('jsonb', 3802, (column, value) => {
    const json = JSON.stringify(value)
    const bytes = column.reserve(1 + json.length * 3)
    bytes[column.start] = jsonbVersion
    return 1 + bytes.write(json, column.start + 1, 'utf8')
  }),
} as const

function kindOf<T>(name: string, oid: number, write: Kind<T>['write']): Kind<T> {
  return { name, oid, write }
}

export class ArrayColumn<T> {
  /** Offset of the next value, after its length field. */
  start = headerBytes + 4
  readonly kind: Kind<T>
  #bytes: Buffer
  #count = 0
  #nulls = 0

  constructor(kind: Kind<T>, room = 8192) {
    this.kind = kind
    this.#bytes = Buffer.allocUnsafe(headerBytes + room)
  }

  add(value: T | null): void {
    if (value === null) {
      this.reserve(0)
      this.#nulls += 1
    }
    const size = value === null ? -1 : this.kind.write(this, value)
    setInt32(this.#bytes, this.start - 4, size)
    this.start += Math.max(size, 0) + 4
    this.#count += 1
  }

  /** Ensures that there is space for a length field and a value of at most `most` bytes. */
  reserve(most: number): Buffer {
    const needed = this.start + most + 4
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2))
      this.#bytes.copy(larger, 0, 0, this.start)
      this.#bytes = larger
    }
    return this.#bytes
  }

  get size(): number {
    return this.start
  }

  get blank(): boolean {
    return this.#nulls === this.#count
  }

  /** Clears the array but keeps its memory. Call only after sending all parameters made from the array. */
  clear(): void {
    this.start = headerBytes + 4
    this.#count = 0
    this.#nulls = 0
  }

  toParameter(): Buffer {
    // An array has one dimension, numbered from 1. An empty array has no dimensions.
    const { oid } = this.kind
    const values = [1, this.#nulls > 0 ? 1 : 0, oid, this.#count, 1]
    const header = this.#count === 0 ? [0, 0, oid] : values
    header.forEach((value, index) => setInt32(this.#bytes, index * 4, value))
    return this.#bytes.subarray(0, this.#count === 0 ? header.length * 4 : this.start - 4)
  }
}

/** Writes an integer like `Buffer.writeInt32BE`, but without checks, because each answer has hundreds of values. */
function setInt32(bytes: Buffer, at: number, value: number): number {
  bytes[at] = value >>> 24
  bytes[at + 1] = value >>> 16
  bytes[at + 2] = value >>> 8
  bytes[at + 3] = value
  return 4
}
