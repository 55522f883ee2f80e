import { cr, firstLineEnd, lf } from './line-ends.ts'

/** Takes the first lines of a text away and leaves their ends: so every other line keeps its number. */
export class LineSkipper {
  #left: number
  /** The piece before ended between the two signs of a line end. */
  #halfEnd = false

  constructor(lines = 0) {
    this.#left = lines
  }

  pass(text: Buffer): Buffer {
    let at = this.#halfEnd && text[0] === lf ? 1 : 0
    let ended = 0
    if (text.length > 0) this.#halfEnd = false
    while (this.#left > 0 && at < text.length) {
      const end = firstLineEnd(text, at)
      if (end < 0) return Buffer.alloc(ended, '\n')
      at = end
      ended++
      this.#left--
    }
    if (ended > 0 && at === text.length) this.#halfEnd = text[at - 1] === cr
    if (ended === 0) return text.subarray(at)
    return Buffer.concat([Buffer.alloc(ended, '\n'), text.subarray(at)])
  }
}

/** The text of a list without its first lines. */
export async function* skipLines(
  pieces: AsyncIterable<Buffer>,
  lines: number | undefined,
): AsyncGenerator<Buffer> {
  const skipper = new LineSkipper(lines)
  for await (const piece of pieces) yield skipper.pass(piece)
}
