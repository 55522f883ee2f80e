import { isUtf8 } from 'node:buffer'
import { Misuse } from '../shared/errors.ts'
import { lastCharacterEnd } from './line-ends.ts'
import { isHalf, type Encoding } from './encoding.ts'

/**
 * Everything as UTF-8; bytes that are not in the encoding are refused with line and offset, never replaced.
 * With `toTheEnd` false the last character may be cut.
 */
export async function* decode(
  chunks: AsyncIterable<Buffer>,
  encoding: Encoding,
  { shown, toTheEnd = true }: { shown: string; toTheEnd?: boolean },
): AsyncGenerator<Buffer> {
  const decoder = encoding.label === 'utf-8' ? new Utf8(shown) : new Other(encoding.label, shown)
  let skip = encoding.mark
  for await (const chunk of chunks) {
    const bytes = chunk.subarray(Math.min(skip, chunk.length))
    decoder.offset += chunk.length - bytes.length
    skip -= chunk.length - bytes.length
    const text = decoder.push(bytes, false)
    if (text.length > 0) yield text
  }
  if (!toTheEnd) return
  const rest = decoder.push(Buffer.alloc(0), true)
  if (rest.length > 0) yield rest
}

class Utf8 {
  offset = 0
  #line = 1
  #rest: Buffer = Buffer.alloc(0)
  readonly #shown: string

  constructor(shown: string) {
    this.#shown = shown
  }

  push(chunk: Buffer, last: boolean): Buffer {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const end = last ? bytes.length : lastCharacterEnd(bytes)
    const text = bytes.subarray(0, end)
    if (!isUtf8(text)) throw this.#refuse(text)
    this.#rest = bytes.subarray(end)
    this.offset += end
    this.#line += lineEnds(text)
    return text
  }

  #refuse(text: Buffer): Misuse {
    let good = 0
    let bad = text.length
    while (bad - good > 1) {
      const middle = (good + bad) >> 1
      const part = text.subarray(0, middle)
      if (isUtf8(part.subarray(0, lastCharacterEnd(part)))) good = middle
      else bad = middle
    }
    const at = lastCharacterEnd(text.subarray(0, good))
    const line = this.#line + lineEnds(text.subarray(0, at))
    const place = `${this.#shown}:${line}: expected UTF-8 to the end, got`
    const offset = this.offset + at
    if (isHalf(text.subarray(at))) return halfCharacter(place, offset)
    return new Misuse(
      `${place} other bytes at offset ${offset}: ${around(text, at)}; correct that line, or name the encoding with --encoding, such as --encoding windows-1252, or save the file as UTF-8`,
    )
  }
}

function halfCharacter(place: string, offset: number): Misuse {
  return new Misuse(
    `${place} half a character (a lone surrogate) at offset ${offset}; correct that line, which some program cut in the middle of an emoji or the like`,
  )
}

const shownAround = 20

/** What stands around a bad byte on its line, with the byte as \xE9 and as windows-1252 has it. */
function around(text: Buffer, at: number): string {
  const before = text.subarray(Math.max(0, at - shownAround, text.lastIndexOf(10, at) + 1), at)
  const after = text.subarray(at + 1, at + shownAround)
  const [rest = ''] = after.toString('latin1').split(/[\r\n]/)
  const byte = text.subarray(at, at + 1)
  const hex = byte.toString('hex').toUpperCase()
  const letters = ascii(before.toString('latin1'))
  const western = new TextDecoder('windows-1252').decode(byte)
  return `${JSON.stringify(letters + western + ascii(rest))} in windows-1252, the byte is 0x${hex}`
}

/** A letter of several bytes would be shown in pieces. */
function ascii(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '.')
}

class Other {
  offset = 0
  #line = 1
  /** The end of the piece before, from the last whole unit of two bytes on. */
  #before: Buffer = Buffer.alloc(0)
  readonly #decoder: InstanceType<typeof TextDecoder>
  readonly #label: string
  readonly #shown: string

  constructor(label: string, shown: string) {
    this.#decoder = new TextDecoder(label, { fatal: true, ignoreBOM: true })
    this.#label = label
    this.#shown = shown
  }

  push(chunk: Buffer, last: boolean): Buffer {
    try {
      const text = Buffer.from(this.#decoder.decode(chunk, { stream: !last }))
      this.offset += chunk.length
      this.#line += lineEnds(text)
      const kept = Buffer.concat([this.#before, chunk])
      this.#before = kept.subarray(Math.max(0, kept.length - 2 - (this.offset % 2)))
      return text
    } catch (cause) {
      if (this.#label.startsWith('utf-16')) this.#refuseHalf(chunk)
      throw new Misuse(
        `${this.#shown}: expected ${this.#label} to the end, got bytes that are none between offsets ${this.offset} and ${this.offset + chunk.length}, after line ${this.#line}; name the encoding with --encoding, or save the file as UTF-8`,
        { cause },
      )
    }
  }

  /** Marks of UTF-16 have two bytes, so that units begin at even offsets. */
  #refuseHalf(chunk: Buffer): void {
    const bytes = Buffer.concat([this.#before, chunk])
    const unit = (at: number) =>
      this.#label === 'utf-16be' ? bytes.readUInt16BE(at) : bytes.readUInt16LE(at)
    let line = this.#line
    for (let at = 0; at + 1 < bytes.length; at += 2) {
      const value = unit(at)
      if (value === 10 && at >= this.#before.length) line += 1
      if (value < 0xd800 || value > 0xdfff) continue
      const pair = value < 0xdc00 && at + 3 < bytes.length && unit(at + 2) >> 10 === 0x37
      if (!pair && !(at === 0 && value >= 0xdc00 && this.#before.length > 0)) {
        const place = `${this.#shown}:${line}: expected ${this.#label} to the end, got`
        throw halfCharacter(place, this.offset - this.#before.length + at)
      }
      at += pair ? 2 : 0
    }
  }
}

function lineEnds(text: Buffer): number {
  let count = 0
  for (let at = text.indexOf(10); at >= 0; at = text.indexOf(10, at + 1)) count++
  return count
}
