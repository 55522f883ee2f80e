// Where lines and characters end in UTF-8 text; a line ends with LF, CR, or both together.

export const lf = 10
export const cr = 13

/** After the last line end, 0 when there is none; a closing CR may be the first half of one. */
export function lastLineEnd(bytes: Buffer): number {
  const usable = bytes[bytes.length - 1] === cr ? bytes.length - 1 : bytes.length
  if (usable === 0) return 0
  return Math.max(bytes.lastIndexOf(lf, usable - 1), bytes.lastIndexOf(cr, usable - 1)) + 1
}

/** After the first line end from a place on; below 0 when there is none. */
export function firstLineEnd(bytes: Buffer, from: number): number {
  const feed = bytes.indexOf(lf, from)
  const before = feed < 0 ? bytes : bytes.subarray(0, feed)
  const carriage = before.indexOf(cr, from)
  if (carriage < 0) return feed < 0 ? -1 : feed + 1
  return bytes[carriage + 1] === lf ? carriage + 2 : carriage + 1
}

/** Where the text of a line ends, given where the next line begins. */
export function textEnd(bytes: Buffer, next: number): number {
  if (bytes[next - 1] === cr) return next - 1
  if (bytes[next - 1] !== lf) return next
  return bytes[next - 2] === cr ? next - 2 : next - 1
}

/** How many lines there are, with the last one that nothing may end. */
export function countLines(bytes: Buffer): number {
  let count = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === lf || (byte === cr && bytes[at + 1] !== lf)) count++
  }
  const last = bytes[bytes.length - 1]
  return last === undefined || last === lf || last === cr ? count : count + 1
}

/** Where the last whole character of UTF-8 ends: what comes after it goes on in the next piece. */
export function lastCharacterEnd(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) return bytes.length
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
      return back >= length ? bytes.length : bytes.length - back
    }
  }
  return bytes.length
}
