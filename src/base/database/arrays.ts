// Builds arrays in PostgreSQL's binary format. The text format would double the cost of storing an answer. The driver
// sends Buffer parameters in binary format.

const oids = {
  boolean: 16,
  bytea: 17,
  bigint: 20,
  integer: 23,
  text: 25,
  float8: 701,
  uuid: 2950,
  jsonb: 3802,
} as const
const headerBytes = 20
const jsonbVersion = 1

abstract class ArrayColumn {
  abstract readonly kind: keyof typeof oids
  protected bytes: Buffer
  /** Offset of the next value, after its length field. */
  protected start = headerBytes + 4
  #count = 0
  #nulls = 0

  constructor(room = 8192) {
    this.bytes = Buffer.allocUnsafe(headerBytes + room)
  }

  /** Ensures space for a length field and a value of at most `most` bytes. */
  protected reserve(most: number): void {
    const needed = this.start + most + 4
    if (needed <= this.bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, this.bytes.length * 2))
    this.bytes.copy(larger, 0, 0, this.start)
    this.bytes = larger
  }

  /** Completes a value of `size` bytes that was written at `start`. */
  protected take(size: number): void {
    setInt32(this.bytes, this.start - 4, size)
    this.start += size + 4
    this.#count += 1
  }

  protected takeNull(): void {
    this.reserve(0)
    setInt32(this.bytes, this.start - 4, -1)
    this.start += 4
    this.#count += 1
    this.#nulls += 1
  }

  get size(): number {
    return this.start
  }

  get blank(): boolean {
    return this.#nulls === this.#count
  }

  /** Clears the array but keeps its memory. Parameters created from the array must already have been sent. */
  clear(): void {
    this.start = headerBytes + 4
    this.#count = 0
    this.#nulls = 0
  }

  toParameter(): Buffer {
    // An array has one dimension with a lower bound of 1. An empty array has no dimension.
    const oid = oids[this.kind]
    const values = [1, this.#nulls > 0 ? 1 : 0, oid, this.#count, 1]
    const header = this.#count === 0 ? [0, 0, oid] : values
    header.forEach((value, index) => setInt32(this.bytes, index * 4, value))
    return this.bytes.subarray(0, this.#count === 0 ? header.length * 4 : this.start - 4)
  }
}

/** Writes an integer like `Buffer.writeInt32BE`, but without checks, because each answer has hundreds of values. */
function setInt32(bytes: Buffer, at: number, value: number): void {
  bytes[at] = value >>> 24
  bytes[at + 1] = value >>> 16
  bytes[at + 2] = value >>> 8
  bytes[at + 3] = value
}

export class TextColumn extends ArrayColumn {
  override readonly kind = 'text'

  add(value: string | null): void {
    if (value === null) return this.takeNull()
    this.reserve(value.length * 3)
    this.take(this.bytes.write(value, this.start, 'utf8'))
  }
}

/** An array of ids from `idBytes`, each of which has 16 characters with codes below 256. */
export class UuidColumn extends ArrayColumn {
  override readonly kind = 'uuid'

  add(value: string | null): void {
    if (value === null) return this.takeNull()
    this.reserve(16)
    for (let index = 0; index < 16; index += 1) {
      this.bytes[this.start + index] = value.charCodeAt(index)
    }
    this.take(16)
  }
}

export class IntegerColumn extends ArrayColumn {
  override readonly kind = 'integer'

  add(value: number | null): void {
    if (value === null) return this.takeNull()
    this.reserve(4)
    setInt32(this.bytes, this.start, value)
    this.take(4)
  }
}

export class BooleanColumn extends ArrayColumn {
  override readonly kind = 'boolean'

  add(value: boolean): void {
    this.reserve(1)
    this.bytes[this.start] = value ? 1 : 0
    this.take(1)
  }
}

export class BigintColumn extends ArrayColumn {
  override readonly kind = 'bigint'

  /** Adds a whole number that JavaScript can represent exactly. */
  add(value: number | null): void {
    if (value === null) return this.takeNull()
    this.reserve(8)
    const high = Math.floor(value / 2 ** 32)
    setInt32(this.bytes, this.start, high)
    setInt32(this.bytes, this.start + 4, value - high * 2 ** 32)
    this.take(8)
  }
}

export class DoubleColumn extends ArrayColumn {
  override readonly kind = 'float8'

  add(value: number | null): void {
    if (value === null) return this.takeNull()
    this.reserve(8)
    this.bytes.writeDoubleBE(value, this.start)
    this.take(8)
  }
}

export class JsonbColumn extends ArrayColumn {
  override readonly kind = 'jsonb'

  add(value: unknown): void {
    if (value === null) return this.takeNull()
    const text = JSON.stringify(value)
    this.reserve(1 + text.length * 3)
    this.bytes[this.start] = jsonbVersion
    this.take(1 + this.bytes.write(text, this.start + 1, 'utf8'))
  }
}

export class BytesColumn extends ArrayColumn {
  override readonly kind = 'bytea'

  add(value: Buffer): void {
    this.reserve(value.length)
    this.take(value.copy(this.bytes, this.start))
  }
}
