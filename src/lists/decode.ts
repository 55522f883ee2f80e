import { isUtf8 } from 'node:buffer'
import { Misuse } from '../shared/errors.ts'
import { lastCharacterEnd } from './line-ends.ts'
import type { Encoding } from './encoding.ts'

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
    return new Misuse(
      `${this.#shown}:${line}: expected UTF-8 to the end, got other bytes at offset ${this.offset + at}; name the encoding with --encoding, such as --encoding windows-1252, or save the file as UTF-8`,
    )
  }
}

class Other {
  offset = 0
  #line = 1
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
      return text
    } catch (cause) {
      throw new Misuse(
        `${this.#shown}: expected ${this.#label} to the end, got bytes that are none between offsets ${this.offset} and ${this.offset + chunk.length}, after line ${this.#line}; name the encoding with --encoding, or save the file as UTF-8`,
        { cause },
      )
    }
  }
}

function lineEnds(text: Buffer): number {
  let count = 0
  for (let at = text.indexOf(10); at >= 0; at = text.indexOf(10, at + 1)) count++
  return count
}
