// Arrays in the binary form of PostgreSQL's protocol: nothing is quoted here and nothing is parsed there, which is half
// the work of storing an answer otherwise. The driver sends a Buffer as a parameter in binary form, whatever its type.

const oids = {
  boolean: 16,
  bytea: 17,
  bigint: 20,
  integer: 23,
  text: 25,
  double: 701,
  uuid: 2950,
  jsonb: 3802,
} as const
const headerBytes = 20
/** The first byte of a jsonb value in binary form. */
const jsonbVersion = 1

/** An array that grows value by value. */
export abstract class ArrayColumn {
  readonly #oid: number
  protected bytes: Buffer
  /** Offset of the next value, behind its length. */
  protected start = headerBytes + 4
  #count = 0
  #nulls = 0

  /** With room for so many bytes to begin with. */
  constructor(kind: keyof typeof oids, room = 8192) {
    this.#oid = oids[kind]
    this.bytes = Buffer.allocUnsafe(headerBytes + room)
  }

  /** Makes room for a value of at most so many bytes, and for the length of the one behind it. */
  protected reserve(most: number): void {
    const needed = this.start + most + 4
    if (needed <= this.bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, this.bytes.length * 2))
    this.bytes.copy(larger, 0, 0, this.start)
    this.bytes = larger
  }

  /** Takes what was written from `start` on as a value of so many bytes. */
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

  /** Bytes taken so far. */
  get size(): number {
    return this.start
  }

  /** True while it holds nothing but nulls. */
  get blank(): boolean {
    return this.#nulls === this.#count
  }

  /** Empties the array and keeps its memory: the parameter made of it must have been sent. */
  clear(): void {
    this.start = headerBytes + 4
    this.#count = 0
    this.#nulls = 0
  }

  /** The whole array, as a parameter. */
  toParameter(): Buffer {
    // One dimension that begins at 1; without values none at all.
    const header = this.#count === 0 ? [0, 0, this.#oid] : this.#header()
    header.forEach((value, index) => setInt32(this.bytes, index * 4, value))
    return this.bytes.subarray(0, this.#count === 0 ? header.length * 4 : this.start - 4)
  }

  #header(): number[] {
    return [1, this.#nulls > 0 ? 1 : 0, this.#oid, this.#count, 1]
  }
}

/** As `Buffer.writeInt32BE`, without its checks: there are hundreds of values to an answer. */
function setInt32(bytes: Buffer, at: number, value: number): void {
  bytes[at] = value >>> 24
  bytes[at + 1] = value >>> 16
  bytes[at + 2] = value >>> 8
  bytes[at + 3] = value
}

export class TextColumn extends ArrayColumn {
  constructor() {
    super('text')
  }

  add(value: string | null): void {
    if (value === null) return this.takeNull()
    this.reserve(value.length * 3)
    this.take(this.bytes.write(value, this.start, 'utf8'))
  }
}

/** Ids as `idBytes` makes them, of 16 characters below 256. */
export class UuidColumn extends ArrayColumn {
  constructor() {
    super('uuid')
  }

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
  constructor() {
    super('integer')
  }

  add(value: number | null): void {
    if (value === null) return this.takeNull()
    this.reserve(4)
    setInt32(this.bytes, this.start, value)
    this.take(4)
  }
}

export class BooleanColumn extends ArrayColumn {
  constructor() {
    super('boolean')
  }

  add(value: boolean): void {
    this.reserve(1)
    this.bytes[this.start] = value ? 1 : 0
    this.take(1)
  }
}

export class BigintColumn extends ArrayColumn {
  constructor() {
    super('bigint')
  }

  /** A whole number that JavaScript holds exactly. */
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
  constructor() {
    super('double')
  }

  add(value: number | null): void {
    if (value === null) return this.takeNull()
    this.reserve(8)
    this.bytes.writeDoubleBE(value, this.start)
    this.take(8)
  }
}

export class JsonbColumn extends ArrayColumn {
  constructor() {
    super('jsonb')
  }

  add(value: unknown): void {
    if (value === null) return this.takeNull()
    const text = JSON.stringify(value)
    this.reserve(1 + text.length * 3)
    this.bytes[this.start] = jsonbVersion
    this.take(1 + this.bytes.write(text, this.start + 1, 'utf8'))
  }
}

export class BytesColumn extends ArrayColumn {
  constructor(room: number) {
    super('bytea', room)
  }

  add(value: Buffer): void {
    this.reserve(value.length)
    this.take(value.copy(this.bytes, this.start))
  }
}
