// keepFlushed(folder): from now on, copies each reply file of this process to the folder as of its last flush, which is
// what a disk has after a power failure.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { basename, join } from 'node:path'

const { openSync, writeSync, writevSync, fdatasync, fdatasyncSync } = fs

interface Copy {
  readonly handle: number
  /** Written since the last flush. */
  readonly unflushed: (readonly [place: number, bytes: Buffer])[]
}

export function keepFlushed(folder: string): void {
  fs.mkdirSync(folder, { recursive: true })
  const copies = new Map<number, Copy>()
  const note = (handle: number, pieces: readonly NodeJS.ArrayBufferView[], place: unknown) => {
    const bytes = Buffer.concat(
      pieces.map((piece) => new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength)),
    )
    copies.get(handle)?.unflushed.push([Number(place), bytes])
  }
  const take = (handle: number) => copies.get(handle)?.unflushed.splice(0) ?? []
  const keep = (handle: number, written: ReturnType<typeof take>) => {
    const copy = copies.get(handle)
    if (copy === undefined) return
    for (const [place, bytes] of written) writeSync(copy.handle, bytes, 0, bytes.length, place)
  }
  Object.assign(fs, {
    openSync: (...given: Parameters<typeof openSync>) => {
      const handle = openSync(...given)
      const name = basename(String(given[0]))
      if (name.endsWith('.wal') && given[1] === 'wx+') {
        copies.set(handle, { handle: openSync(join(folder, name), 'w'), unflushed: [] })
      }
      return handle
    },
    writevSync: (...given: Parameters<typeof writevSync>) => {
      note(...given)
      return writevSync(...given)
    },
    fdatasyncSync: (handle: number) => {
      fdatasyncSync(handle)
      keep(handle, take(handle))
    },
    fdatasync: (handle: number, done: () => void) => {
      const written = take(handle)
      fdatasync(handle, () => {
        keep(handle, written)
        done()
      })
    },
  })
  syncBuiltinESMExports()
}
