import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../shared/errors.ts'

/** What was paid for and could not be written to the database, kept in a file until it can. */
export interface Spooled<Item> {
  readonly file: string
  readonly items: readonly Item[]
  /** Lines that cannot be read: the disk did not keep what was written. */
  readonly torn: number
}

/** Writes items to a file of their own and onto the disk, before the process may end. */
export function spool(folder: string, name: string, items: readonly unknown[]): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, `${name}.ndjson`)
  // Under its name only when it is whole: a worker that starts meanwhile would settle a part and remove the file.
  const draft = `${file}.draft`
  const handle = openSync(draft, 'wx', 0o600)
  try {
    for (const item of items) writeFileSync(handle, `${JSON.stringify(pack(item))}\n`)
    fsyncSync(handle)
  } catch (error) {
    // Half a file would hold the very room that is missing, and nobody reads it.
    rmSync(draft, { force: true })
    throw error
  } finally {
    closeSync(handle)
  }
  renameSync(draft, file)
  const parent = openSync(folder, 'r')
  try {
    fsyncSync(parent)
  } finally {
    closeSync(parent)
  }
  return file
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
