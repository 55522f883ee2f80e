import { openPromise, type Entry, type ZipFile } from 'yauzl'
import { Misuse, reasonOf } from '../shared/errors.ts'
import { refuseSwelling } from './gzip.ts'

const mostEntries = 10_000

/** The files of an archive, by their names. */
export interface Archive {
  readonly names: readonly string[]
  readonly sizeOf: (name: string) => number
  readonly read: (name: string) => AsyncGenerator<Buffer>
  readonly close: () => void
}

/** Opens an archive; nothing of it is unpacked before it is asked for. */
export async function openArchive(path: string, shown: string): Promise<Archive> {
  const damaged = (cause: unknown): never => {
    if (cause instanceof Misuse) throw cause
    throw new Misuse(
      `expected ${shown} to be a whole archive, got one that cannot be read: ${reasonOf(cause)}`,
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
    if (entry === undefined) throw new Misuse(`expected ${name} in ${shown}, got nothing`)
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
    names: [...entries.keys()],
    sizeOf: (name) => entries.get(name)?.uncompressedSize ?? 0,
    read,
    close: () => zip.close(),
  }
}

async function entriesOf(zip: ZipFile, shown: string): Promise<ReadonlyMap<string, Entry>> {
  if (zip.entryCount > mostEntries) {
    throw new Misuse(
      `expected at most ${mostEntries} files in ${shown}, got ${zip.entryCount}; unpack the one with the queries`,
    )
  }
  const entries = new Map<string, Entry>()
  for await (const entry of zip.eachEntry()) {
    if (entry.isEncrypted()) {
      throw new Misuse(`expected ${shown} to be open, got an archive with a password; unpack it`)
    }
    if (!entry.fileName.endsWith('/')) entries.set(entry.fileName, entry)
  }
  return entries
}
