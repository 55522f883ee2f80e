import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { asError, codeOf } from '../../shared/errors.ts'
import { writeWhole, type Reserve } from './reserve.ts'

/** What was paid for and could not be written to the database, kept in a file until it can. */
export interface Spooled<Item> {
  readonly file: string
  readonly items: readonly Item[]
  /** Lines that cannot be read: the disk did not keep what was written. */
  readonly torn: number
}

/** What became of items that were to be kept: the file that holds them, and those that found no room, with the reason. */
export interface Spooling<Item> {
  readonly file: string
  readonly left: readonly Item[]
  readonly cause: unknown
}

/**
 * Writes items to a file of their own and onto the disk, before the process may end: over the room that was taken for
 * them, if there is some. On a full disk those are written that fit; throws when none does.
 */
export function spool<Item>(
  { folder, name, reserve }: { folder: string; name: string; reserve?: Reserve | null },
  items: readonly Item[],
): Spooling<Item> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, `${name}.ndjson`)
  const over = reserve?.use() ?? null
  // Under its name only when it is whole: a worker that starts meanwhile would settle a part and remove the file.
  const draft = over === null ? `${file}.draft` : (reserve?.file ?? file)
  const handle = over ?? openSync(draft, 'wx', 0o600)
  try {
    const written = writeLines(handle, items)
    if (items.length > 0 && written.left.length === items.length) throw asError(written.cause)
    fsyncSync(handle)
    renameSync(draft, file)
    fsyncFolder(folder)
    return { file, ...written }
  } catch (error) {
    // Half a file would hold the very room that is missing, and nobody reads it.
    rmSync(draft, { force: true })
    throw error
  } finally {
    closeSync(handle)
  }
}

/** A line that finds no room is left out; a shorter one after it may find some. */
function writeLines<Item>(handle: number, items: readonly Item[]): Omit<Spooling<Item>, 'file'> {
  const left: Item[] = []
  let [end, cause]: [number, unknown] = [0, null]
  for (const item of items) {
    const line = Buffer.from(`${JSON.stringify(pack(item))}\n`)
    try {
      writeWhole(handle, line, end)
      end += line.length
    } catch (error) {
      left.push(item)
      cause = error
    }
  }
  ftruncateSync(handle, end)
  return { left, cause }
}

function fsyncFolder(folder: string): void {
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** The files whose names begin with `prefix`, with what can be read of each. */
export function unspool<Item>(folder: string, prefix: string): readonly Spooled<Item>[] {
  return namesIn(folder)
    .filter((name) => name.startsWith(prefix) && name.endsWith('.ndjson'))
    .flatMap((name) => {
      const file = join(folder, name)
      const text = textOf(file)
      if (text === null) return []
      const lines = text.split('\n').filter((line) => line !== '')
      const items = lines.map((line) => unpack(line)).filter((item) => item !== undefined)
      return [{ file, items: items as Item[], torn: lines.length - items.length }]
    })
}

/** Removes a file whose items are in the database. */
export function forget(file: string): void {
  rmSync(file, { force: true })
}

/** Renames a file that holds items of no known call, so that no worker reads it again; gives back the new name. */
export function setAside(file: string): string {
  const aside = `${file}.left`
  ifThere(() => renameSync(file, aside))
  return aside
}

function namesIn(folder: string): string[] {
  return ifThere(() => readdirSync(folder)) ?? []
}

/** Null for a file that another worker has settled meanwhile. */
function textOf(file: string): string | null {
  return ifThere(() => readFileSync(file, 'utf8'))
}

function ifThere<T>(look: () => T): T | null {
  try {
    return look()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

function pack(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return { $bytes: value.toString('base64') }
  if (value instanceof Date) return { $time: value.toISOString() }
  if (Array.isArray(value)) return value.map(pack)
  if (typeof value !== 'object' || value === null) return value
  // A key that looks like a mark comes from an answer: it is kept as pairs, so that nothing is mistaken for bytes.
  const entries = Object.entries(value).map(([key, inner]) => [key, pack(inner)] as const)
  if (entries.some(([key]) => key.startsWith('$') || key === '__proto__'))
    return { $pairs: entries }
  return Object.fromEntries(entries)
}

/** Undefined for a line that is none of ours. */
function unpack(line: string): unknown {
  try {
    return revive(JSON.parse(line))
  } catch {
    return undefined
  }
}

function revive(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(revive)
  if (typeof value !== 'object' || value === null) return value
  if ('$bytes' in value) return Buffer.from(String(value.$bytes), 'base64')
  if ('$time' in value) return new Date(String(value.$time))
  if ('$pairs' in value && Array.isArray(value.$pairs)) return fromPairs(value.$pairs)
  return fromPairs(Object.entries(value))
}

function fromPairs(pairs: readonly (readonly [string, unknown])[]): object {
  const revived = {}
  for (const [key, inner] of pairs) {
    Object.defineProperty(revived, key, {
      value: revive(inner),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return revived
}
