// Opens a file or standard input as bytes.

import { npmRun } from '../../base/cli/commands.ts'
import { constants, type Stats } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { Misuse, unreadable } from '../../base/errors.ts'

export interface Source {
  /** Path as the user typed it, or `standard input`. */
  readonly shown: string
  /** Archive or workbook that contains the table, and the table's name. */
  readonly file?: string
  readonly sheet?: string
  readonly chunks: AsyncIterable<Buffer>
  /** Line number of the first line, if not 1. */
  readonly firstLine?: number
  /** Throws if the file has changed since reading started. */
  readonly check: () => Promise<void>
  readonly close: () => Promise<void>
  readonly notices?: readonly string[]
  /** Row numbers of the hidden spreadsheet rows read so far. */
  readonly hiddenRows?: ReadonlySet<number> | undefined
}

// With larger chunks, half of the time is spent on garbage collection.
const chunkSize = 32 * 1024

const folder = 'a folder; specify its files, such as inputs/*.csv'

/** Rejects folders, pipes and devices. */
export async function openFile(path: string, shown: string): Promise<Source> {
  // Checks the file before opening it, because opening and closing a pipe would make its writer lose data.
  refuseOthers(await stat(path).catch(failed(shown)), shown)
  // If the file has since been replaced with a pipe, a blocking open would hang forever.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK
  const handle = await open(path, flags).catch(failed(shown))
  try {
    const before = await handle.stat()
    refuseOthers(before, shown)
    const check = async (): Promise<void> => {
      const after = await handle.stat()
      if (after.size === before.size && after.mtimeMs === before.mtimeMs) return
      throw new Misuse(
        `${shown} changed while it was being read, so nothing was queued; run the command again`,
      )
    }
    return { shown, chunks: chunksOf(handle, shown), check, close: () => handle.close() }
  } catch (error) {
    await handle.close()
    throw error
  }
}

function failed(shown: string): (cause: unknown) => never {
  return (cause) => {
    throw unreadable(shown, cause, folder)
  }
}

/** Rejects everything but regular files, because only a regular file can be read repeatedly. */
function refuseOthers(found: Stats, shown: string): void {
  if (found.isFile()) return
  const got = found.isDirectory()
    ? folder
    : found.isFIFO()
      ? `a pipe; pass it as standard input: cat ${shown} | ${npmRun('-s enqueue --')} - --as NAME`
      : 'a device; specify a CSV file'
  throw new Misuse(`expected ${shown} to be a readable file, got ${got}`)
}

async function* chunksOf(handle: FileHandle, shown: string): AsyncGenerator<Buffer> {
  for (;;) {
    // Each chunk needs its own buffer, because an unfinished line may still refer to the previous buffer.
    const buffer = Buffer.allocUnsafeSlow(chunkSize)
    const { bytesRead } = await handle.read(buffer, 0, chunkSize).catch(failed(shown))
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
  }
}

export const streamName = 'standard input'

export function openStream(stream: AsyncIterable<unknown>): Source {
  return {
    shown: streamName,
    chunks: buffersOf(stream),
    check: async () => undefined,
    close: async () => undefined,
  }
}

async function* buffersOf(stream: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk))
    for (let start = 0; start < bytes.length; start += chunkSize) {
      yield bytes.subarray(start, start + chunkSize)
    }
  }
}

/** Returns the first bytes of a source, and a stream of all its bytes. */
export async function peek(chunks: AsyncIterable<Buffer>, size: number) {
  const iterator = chunks[Symbol.asyncIterator]()
  const first: Buffer[] = []
  let next: IteratorResult<Buffer, unknown> | undefined
  for (let length = 0; length < size; length += next.value.length) {
    next = await iterator.next()
    if (next.done === true) break
    first.push(next.value)
  }
  const head = Buffer.concat(first)
  async function* all(): AsyncGenerator<Buffer> {
    yield* first.splice(0)
    while (next?.done !== true) {
      next = await iterator.next()
      if (next.done !== true) yield next.value
    }
  }
  return { head, whole: next?.done === true, all: all() }
}
