/** Bytes that are handed on at once. */
const bufferBytes = 256 * 1024

// More are never in use at once, but for those who read several things side by side.
const mostKept = 12
const kept: Buffer[] = []

/** A buffer of the usual size, or of more: new ones each time would have all of memory gone over, again and again. */
export function takeBuffer(bytes = bufferBytes): Buffer {
  const found = bytes <= bufferBytes ? kept.pop() : undefined
  return found ?? Buffer.allocUnsafeSlow(Math.max(bufferBytes, bytes))
}

/** Whoever gives one back, or a part of one, has no use for its bytes any more. */
export function giveBuffer({ buffer }: Buffer): void {
  if (buffer.byteLength === bufferBytes && kept.length < mostKept) kept.push(Buffer.from(buffer))
}
