import { createBrotliDecompress, createGunzip, createInflate, type Gunzip } from 'node:zlib'

/** Longest body that is kept, in bytes after decompression: an answer of 100 results has about 50 kB. */
export const bodyCap = 16 * 1024 * 1024

export interface Body {
  readonly bytes: Buffer
  readonly truncated: boolean
}

const decoders: Readonly<Record<string, () => Gunzip | ReturnType<typeof createBrotliDecompress>>> =
  {
    gzip: createGunzip,
    'x-gzip': createGunzip,
    deflate: createInflate,
    br: createBrotliDecompress,
  }

/**
 * Undoes a compression that we did not ask for. What ends too early or grows too long is marked, never silently short;
 * a compression that we do not know is kept as it came.
 */
export async function inflate(bytes: Buffer, encoding: string): Promise<Body> {
  const open = decoders[encoding.trim().toLowerCase()]
  if (open === undefined || bytes.length === 0) return { bytes, truncated: false }
  const decoder = open()
  const chunks: Buffer[] = []
  let size = 0
  let whole = true
  decoder.end(bytes)
  try {
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      size += chunk.length
      // Leaving the loop destroys the decoder: a bomb costs no more memory than the cap.
      if (size > bodyCap) break
    }
  } catch {
    // Cut or corrupt: what could be read is kept as evidence, and says that it is not all.
    whole = false
  }
  // Nothing of it is compressed that way: the label was wrong, and what came is all there is.
  if (size === 0 && !whole) return { bytes, truncated: false }
  const inflated = Buffer.concat(chunks)
  return size > bodyCap
    ? { bytes: inflated.subarray(0, bodyCap), truncated: true }
    : { bytes: inflated, truncated: !whole }
}
