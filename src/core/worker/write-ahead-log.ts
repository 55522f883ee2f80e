// Keeps each reply in a file in MILL_HOME until the reply is in the database, so that a crash loses no received answer.

import { randomBytes } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  futimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
  writevSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { codeOf, Misuse, Unreachable } from '../../base/errors.ts'
import type { Provenance } from '../ledger/entry.ts'
import type { CallName } from '../ledger/settle.ts'
import type { Mill } from '../mill.ts'
import type { Reply } from '../search/call.ts'

/** Disk space reserved for each answer. An answer with 100 results takes about 50 kB; half the space may be unused. */
const bytesOfAnswer = 128 * 1024
/** Interval at which replies are flushed to disk, to survive a power failure. */
const flushMs = 10
// Reserved space is filled with random data, which file systems can neither deduplicate nor store as holes.
const fillBytes = 64 * 1024
/** Maximum size of a record's head, which contains up to 64 kB of response headers. */
const longestHead = 128 * 1024
const usualHead = 1024
const suffix = '.wal'

/** Head of a record: a line before the body's bytes. */
interface RecordHead extends Provenance {
  /** Generation of the record. The file may end with settled records from older generations. */
  readonly generation: number
  /** Size of the body, or null if none was received. */
  readonly bytes: number | null
  readonly crc: number
  readonly call: CallName
  readonly reply: object
}

interface LogRecord {
  readonly head: Omit<RecordHead, 'generation'>
  readonly body: Buffer | null
}

interface LogOptions {
  readonly folder: string
  /** Prefix of the file names, because several databases may share the folder. */
  readonly installation: string
  readonly provenance: Provenance
  readonly bytes: number
}

/** Log files that running workers in this process are writing. */
const ownFiles = new Set<string>()

/**
 * A worker's log, with two segments that are written alternately. A segment is overwritten once all its replies are in
 * the database, so the log still works if the disk is full.
 */
export class WriteAheadLog {
  readonly #segments: Segment[] = []
  readonly #bytes: number
  readonly #provenance: Provenance
  /** For each unsettled call, the segment that contains its reply. */
  readonly #holders = new Map<number, Segment>()
  /** Replies of this event-loop turn, which are written together. */
  readonly #arrived = new Map<number, readonly [CallName, Reply]>()
  #writing: Promise<void> | null = null
  /** Replies to be written once the log has space again. */
  readonly #unwritten = new Map<number, readonly [CallName, Reply]>()
  #flushing: Promise<void> | null = null

  /** Allocates the disk space. Throws if there is too little disk space. */
  constructor({ folder, installation, provenance, bytes }: LogOptions) {
    this.#bytes = bytes / 2
    this.#provenance = provenance
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const name = `${installation}-${hostname()}-${process.pid}-${Date.now().toString(36)}`
    try {
      for (const part of ['a', 'b']) {
        const file = join(folder, `${name}${randomBytes(2).toString('hex')}${part}${suffix}`)
        this.#segments.push(new Segment(file, this.#bytes))
      }
    } catch (error) {
      for (const segment of this.#segments) segment.remove()
      throw error
    }
  }

  /**
   * Writes a reply, together with the other replies of the same event-loop turn. Once this promise resolves, the reply
   * survives a crash of this process and, after the next flush, a crash of the machine.
   */
  append(call: CallName, reply: Reply): Promise<void> {
    this.settle([call.id])
    this.#arrived.set(call.id, [call, reply])
    this.#writing ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#write()
        resolve()
      })
    })
    return this.#writing
  }

  /** Releases replies that are in the database. */
  settle(calls: readonly number[]): void {
    for (const call of calls) {
      this.#arrived.delete(call)
      this.#unwritten.delete(call)
      this.#holders.get(call)?.release()
      this.#holders.delete(call)
    }
  }

  /** Heartbeat: updates the mtime so that other hosts leave the files alone. */
  touch(): void {
    for (const segment of this.#segments) segment.touch()
    for (const [id, kept] of this.#unwritten) this.#arrived.set(id, kept)
    this.#write()
  }

  /** Closes the log, and removes empty files. Returns the files that contain replies, with the calls in them. */
  async close() {
    this.touch()
    await this.#flushing
    const left = this.#segments.filter((segment) => segment.close())
    const held = [...this.#holders].filter(([, segment]) => left.includes(segment))
    return { files: left.map(({ file }) => file), calls: new Set(held.map(([call]) => call)) }
  }

  /** Writes the replies that have arrived. Replies that do not fit on the disk are kept until they do. */
  #write(): void {
    this.#writing = null
    const arrived = [...this.#arrived.values()]
    this.#arrived.clear()
    this.#writeTogether(arrived)
    if (this.#segments.some(({ dirty }) => dirty))
      this.#flushing ??= this.#flush().finally(() => (this.#flushing = null))
  }

  #writeTogether(replies: readonly (readonly [CallName, Reply])[]): void {
    if (replies.length === 0) return
    const records = replies.map((kept) => this.#recordOf(...kept))
    const bytes = records.reduce((sum, { body }) => sum + usualHead + (body?.length ?? 0), 0)
    const segment = this.#writable(bytes)
    try {
      segment.append(records)
    } catch {
      // A single reply may still fit.
      if (replies.length > 1) for (const kept of replies) this.#writeTogether([kept])
      else for (const [call, reply] of replies) this.#unwritten.set(call.id, [call, reply])
      return
    }
    for (const [{ id }] of replies) {
      this.#unwritten.delete(id)
      this.#holders.set(id, segment)
    }
  }

  #recordOf(call: CallName, reply: Reply): LogRecord {
    const body = bodyOf(reply)
    const crc = body === null ? 0 : crc32(body)
    const bytes = body?.length ?? null
    return { head: { bytes, crc, call, reply: withoutBody(reply), ...this.#provenance }, body }
  }

  /** Returns the segment to write to. Switches segments if the current one is full and another is free. */
  #writable(bytes: number): Segment {
    const [current, other] = this.#segments
    if (current === undefined || other === undefined) throw new Error('expected two segments')
    if (current.end + bytes <= this.#bytes || !other.free) return current
    this.#segments.reverse()
    return other
  }

  /** Flushes replies to disk after a short delay, and repeats the flush while new replies arrive. */
  async #flush(): Promise<void> {
    do {
      await new Promise((resolve) => setTimeout(resolve, flushMs))
      await Promise.all(this.#segments.map((segment) => segment.flush()))
    } while (this.#segments.some(({ dirty }) => dirty))
  }
}

class Segment {
  readonly file: string
  #handle: number
  #generation = 0
  #pending = 0
  end = 0
  /** True if a reply was appended after the last flush began. */
  dirty = false

  constructor(file: string, bytes: number) {
    this.file = file
    this.#handle = openSync(file, 'wx+', 0o600)
    ownFiles.add(file)
    try {
      const piece = randomBytes(Math.min(fillBytes, bytes))
      for (let at = 0; at < bytes; at += piece.length) writeWhole(this.#handle, [piece], at)
      this.#restart()
      fdatasyncSync(this.#handle)
    } catch (error) {
      this.remove()
      throw error
    }
  }

  get free(): boolean {
    return this.#pending === 0
  }

  append(records: readonly LogRecord[]): void {
    const pieces = records.flatMap(({ head, body }) => {
      const line = Buffer.from(`${JSON.stringify({ generation: this.#generation, ...head })}\n`)
      return body === null ? [line] : [line, body]
    })
    // If the write fails, the next records overwrite these ones.
    this.end += writeWhole(this.#handle, pieces, this.end)
    this.#pending += records.length
    this.dirty = true
  }

  /** Releases one reply. Once all its replies are released, a segment is overwritten from the start. */
  release(): void {
    this.#pending -= 1
    if (this.#pending === 0) this.#restart()
  }

  touch(): void {
    if (!this.#isThere()) this.#recreate()
    const now = new Date()
    futimesSync(this.#handle, now, now)
  }

  async flush(): Promise<void> {
    if (!this.dirty) return
    this.dirty = false
    await new Promise((resolve) => fdatasync(this.#handle, resolve))
  }

  /** Returns true if the file still contains replies and is therefore kept. */
  close(): boolean {
    const stays = !this.free && this.#isThere()
    if (!stays) {
      this.remove()
      return false
    }
    ftruncateSync(this.#handle, this.end)
    fdatasyncSync(this.#handle)
    closeSync(this.#handle)
    ownFiles.delete(this.file)
    return true
  }

  remove(): void {
    // If the file at this path is no longer ours, it is not removed.
    if (this.#isThere()) rmSync(this.file, { force: true })
    closeSync(this.#handle)
    ownFiles.delete(this.file)
  }

  #restart(): void {
    this.#generation += 1
    this.end = 0
    // No record starts with a newline, so this newline ends the log until the next record overwrites it.
    writeWhole(this.#handle, [Buffer.from('\n')], 0)
  }

  #isThere(): boolean {
    return ifThere(() => statSync(this.file))?.ino === fstatSync(this.#handle).ino
  }

  /** Creates the file again if it was removed, by a person or by another worker while this process was frozen. */
  #recreate(): void {
    const bytes = Buffer.alloc(this.end)
    readSync(this.#handle, bytes, 0, bytes.length, 0)
    try {
      const handle = openSync(this.file, 'wx+', 0o600)
      writeWhole(handle, [bytes], 0)
      closeSync(this.#handle)
      this.#handle = handle
    } catch {
      // The next heartbeat will try again.
    }
  }
}

function bodyOf(reply: Reply): Buffer | null {
  if (reply.kind === 'unsent') return null
  return reply.kind === 'response' ? reply.body : reply.partial
}

function withoutBody(reply: Reply): object {
  if (reply.kind === 'unsent') return reply
  return reply.kind === 'response' ? { ...reply, body: null } : { ...reply, partial: null }
}

/** Writes all pieces one after the other, starting at offset `place`. Returns their total size. */
function writeWhole(handle: number, pieces: readonly Buffer[], place: number): number {
  const total = pieces.reduce((sum, { length }) => sum + length, 0)
  let done = writevSync(handle, pieces, place)
  if (done === total) return total
  const rest = Buffer.concat(pieces)
  while (done < total) done += writeSync(handle, rest, done, total - done, place + done)
  return total
}

export type LogContent = ReturnType<typeof readSegment>

/** Reads the logs of dead workers: logs whose process is gone, and logs with an old mtime from other hosts. */
export function readAbandonedLogs(
  folder: string,
  { installation, leaseMs }: { installation: string; leaseMs: number },
): LogContent[] {
  const names = ifThere(() => readdirSync(folder)) ?? []
  return names
    .filter((name) => name.startsWith(`${installation}-`) && name.endsWith(suffix))
    .map((name) => join(folder, name))
    .filter((file) => isAbandoned(file, installation, leaseMs))
    .flatMap((file) => {
      const bytes = ifThere(() => readFileSync(file))
      return bytes === null ? [] : [readSegment(file, bytes)]
    })
}

/** True if a log's process has ended. A recent mtime shows that a process in another container is alive. */
function isAbandoned(file: string, installation: string, leaseMs: number): boolean {
  if (ownFiles.has(file)) return false
  const name = basename(file)
  const [, pid] = /-(\d+)-[a-z0-9]+\.wal$/.exec(name) ?? []
  const here = pid !== undefined && name.startsWith(`${installation}-${hostname()}-${pid}-`)
  if (here && (Number(pid) === process.pid || !isAlive(Number(pid)))) return true
  const touched = ifThere(() => statSync(file))?.mtimeMs
  return touched !== undefined && Date.now() - touched > leaseMs
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function readSegment(file: string, bytes: Buffer) {
  const replies: { call: CallName; reply: Reply; provenance: Provenance }[] = []
  // Number of replies that were corrupted, usually by a power failure.
  let torn = 0
  let at = 0
  for (let first: RecordHead | null = null; ;) {
    const record = readHead(bytes, at)
    first ??= record?.head ?? null
    if (record === null || record.head.generation !== first?.generation) break
    const { call, reply, origin, api, bytes: length, crc } = record.head
    at = record.end + (length ?? 0)
    const body = length === null ? null : bytes.subarray(record.end, at)
    if (body === null || (body.length === length && crc32(body) === crc)) {
      replies.push({ call, reply: reviveReply(reply, body), provenance: { origin, api } })
    } else {
      torn += 1
    }
  }
  return { file, replies, torn }
}

/** Reads a record's head, or returns null if no record begins at `start`. */
function readHead(bytes: Buffer, start: number): { head: RecordHead; end: number } | null {
  const length = bytes.subarray(start, start + longestHead).indexOf('\n')
  if (length <= 0) return null
  try {
    const head = JSON.parse(bytes.toString('utf8', start, start + length)) as RecordHead
    return { head, end: start + length + 1 }
  } catch {
    return null
  }
}

function reviveReply(head: object, body: Buffer | null): Reply {
  const time = 'receivedAt' in head ? { receivedAt: new Date(String(head.receivedAt)) } : {}
  return { ...head, ...time, body, partial: body } as unknown as Reply
}

/** Renames a log whose replies belong to no known call, so that it is not read again. Returns the new name. */
export function setLogAside(file: string): string {
  const aside = `${file}.left`
  ifThere(() => renameSync(file, aside))
  return aside
}

/** Returns null if the file or its folder is missing. */
function ifThere<T>(look: () => T): T | null {
  try {
    return look()
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return null
    throw error
  }
}

export function logFolder({ config }: Pick<Mill, 'config'>): string {
  return join(config.home, 'spool')
}

/** Throws an error if replies cannot be logged, so that nothing is bought. */
export function expectLogFolder(mill: Mill): void {
  const folder = logFolder(mill)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (cause) {
    throw new Misuse(
      `expected MILL_HOME to be a folder where paid answers can be stored until they are in the database, got ${codeOf(cause) ?? 'an error'} for ${folder}; correct MILL_HOME, or the folder's permissions`,
      { cause },
    )
  }
}

/** Opens a worker's log, or throws before anything is bought if the log might run out of space. */
export function openLog(mill: Mill, answers: number): WriteAheadLog {
  const folder = logFolder(mill)
  const bytes = answers * bytesOfAnswer
  const { installation, supplier } = mill
  const provenance = { origin: supplier.origin, api: supplier.api }
  try {
    return new WriteAheadLog({ folder, installation, provenance, bytes })
  } catch (cause) {
    throw new Unreachable(
      `expected ${(bytes / 1_000_000).toFixed(1)} MB of free space in ${folder}, for ${answers} paid answers that are not in the database yet, got ${codeOf(cause) ?? 'an error'}: nothing is bought; free some space, or lower MILL_CONCURRENCY`,
      { cause },
    )
  }
}
