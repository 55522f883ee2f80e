// Unpacks gzip and zip files, and rejects files that expand too much.

import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { type Entry, openPromise, type ZipFile } from 'yauzl'
import { codeOf, Misuse, reasonOf } from '../../base/errors.ts'
import type { Source } from './source.ts'

const mostEntries = 10_000

export type Archive = Awaited<ReturnType<typeof openArchive>>

/** Each file is unpacked only when it is read. */
export async function openArchive(path: string, shown: string) {
  const damaged = (cause: unknown): never => {
    if (cause instanceof Misuse) throw cause
    throw new Misuse(
      `expected ${shown} to be an intact archive, got an unreadable archive: ${reasonOf(cause)}`,
      { cause },
    )
  }
  const zip = await openPromise(path, { autoClose: false, lazyEntries: true }).catch(damaged)
  const entries = await entriesOf(zip, shown).catch((cause: unknown) => {
    zip.close()
    return damaged(cause)
  })
  async function* read(name: string): AsyncGenerator<Buffer> {
    const entry = entries.get(name)
    if (entry === undefined) throw new Misuse(`expected ${name} in ${shown}, got no such file`)
    const { uncompressedSize, compressedSize } = entry
    refuseSwelling(shown, uncompressedSize, compressedSize)
    try {
      for await (const piece of await zip.openReadStreamPromise(entry)) {
        if (Buffer.isBuffer(piece)) yield piece
      }
    } catch (cause) {
      damaged(cause)
    }
  }
  return {
    shown,
    names: [...entries.keys()],
    sizeOf: (name: string) => entries.get(name)?.uncompressedSize ?? 0,
    read,
    close: () => zip.close(),
  }
}

async function entriesOf(zip: ZipFile, shown: string): Promise<ReadonlyMap<string, Entry>> {
  if (zip.entryCount > mostEntries) {
    throw new Misuse(
      `expected at most ${mostEntries} files in ${shown}, got ${zip.entryCount}; unpack the file that contains the queries`,
    )
  }
  const entries = new Map<string, Entry>()
  for await (const entry of zip.eachEntry()) {
    if (entry.isEncrypted()) {
      throw new Misuse(
        `expected ${shown} to have no password, got a password-protected archive; unpack it first`,
      )
    }
    if (entries.has(entry.fileName)) {
      throw new Misuse(
        `${shown} contains ${entry.fileName} twice; unpack the file that contains the queries`,
      )
    }
    if (!entry.fileName.endsWith('/')) entries.set(entry.fileName, entry)
  }
  return entries
}

// Queries compress by a factor of at most twenty, so a much higher factor indicates a decompression bomb.
const mostSwelling = 250
const allowed = 64 * 1024 * 1024

function refuseSwelling(shown: string, out: number, taken: number): void {
  if (out < allowed || out < taken * mostSwelling) return
  throw new Misuse(
    `expected ${shown} to contain a list, got a file that expands to more than ${mostSwelling} times its size; if the file is a list, unpack the archive yourself`,
  )
}

export async function* gunzipped({ chunks, shown }: Source): AsyncGenerator<Buffer> {
  const gunzip = createGunzip()
  const inflated: AsyncIterable<Buffer> = pipeline(Readable.from(chunks), gunzip, () => undefined)
  let out = 0
  try {
    for await (const piece of inflated) {
      out += piece.length
      refuseSwelling(shown, out, gunzip.bytesWritten)
      yield piece
    }
  } catch (cause) {
    if (codeOf(cause)?.startsWith('Z_') !== true) throw cause
    throw new Misuse(
      `expected ${shown} to be an intact compressed file, got a truncated or damaged one; download it again`,
      { cause },
    )
  }
}
