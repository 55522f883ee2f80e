import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { codeOf, Misuse } from '../shared/errors.ts'
import type { Source } from './source.ts'

/** Text of queries shrinks to a twentieth at the best: what swells more than this is no list but a trap. */
const mostSwelling = 250
const allowed = 64 * 1024 * 1024

/** Refuses what is a small file only until somebody opens it. */
export function refuseSwelling(shown: string, out: number, taken: number): void {
  if (out < allowed || out < taken * mostSwelling) return
  throw new Misuse(
    `expected ${shown} to hold a list, got a file that swells to more than ${mostSwelling} times its size; unpack it yourself if it is one`,
  )
}

/** The list inside a compressed file; never more of it in memory than a piece. */
export function gunzipped(source: Source): Source {
  return { ...source, chunks: inflate(source) }
}

async function* inflate({ chunks, shown }: Source): AsyncGenerator<Buffer> {
  let fed = 0
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      fed += chunk.length
      yield chunk
    }
  }
  let out = 0
  const inflated = pipeline(Readable.from(counted()), createGunzip(), () => undefined)
  try {
    for await (const piece of inflated) {
      if (!Buffer.isBuffer(piece)) continue
      out += piece.length
      refuseSwelling(shown, out, fed)
      yield piece
    }
  } catch (cause) {
    if (codeOf(cause)?.startsWith('Z_') !== true) throw cause
    throw new Misuse(
      `expected ${shown} to be a whole compressed file, got one that ends early or is damaged; fetch it again`,
      { cause },
    )
  }
}
