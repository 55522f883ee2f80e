import { closeSync, openSync, readSync } from 'node:fs'
import { giveBuffer, takeBuffer } from '../../../store/archive/buffers.ts'

/** A file piece by piece. Each is gone with the next one: whoever needs it longer copies it. */
export function* chunksOf(path: string): Generator<Buffer> {
  const file = openSync(path, 'r')
  const buffer = takeBuffer()
  try {
    for (let size = readSync(file, buffer); size > 0; size = readSync(file, buffer)) {
      yield buffer.subarray(0, size)
    }
  } finally {
    giveBuffer(buffer)
    closeSync(file)
  }
}
