import { closeSync, openSync, readSync } from 'node:fs'

const chunkBytes = 256 * 1024

/** A file piece by piece. Each is gone with the next one: whoever needs it longer copies it. */
export function* chunksOf(path: string): Generator<Buffer> {
  const file = openSync(path, 'r')
  try {
    const buffer = Buffer.allocUnsafe(chunkBytes)
    for (let size = readSync(file, buffer); size > 0; size = readSync(file, buffer)) {
      yield buffer.subarray(0, size)
    }
  } finally {
    closeSync(file)
  }
}
