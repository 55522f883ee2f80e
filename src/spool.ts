import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { codeOf } from './errors.ts'

/** What was paid for and could not be written to the database, kept in a file until it can. */
export interface Spooled<Item> {
  readonly file: string
  readonly items: readonly Item[]
  /** Lines that were cut off when the machine stopped. */
  readonly torn: number
}

/** Writes items to a file of their own and onto the disk, before the process may end. */
export function spool(folder: string, name: string, items: readonly unknown[]): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, `${name}.ndjson`)
  const handle = openSync(file, 'a', 0o600)
  try {
    for (const item of items) writeSync(handle, `${JSON.stringify(pack(item))}\n`)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  const parent = openSync(folder, 'r')
  try {
    fsyncSync(parent)
  } finally {
    closeSync(parent)
  }
  return file
}

/** The files whose names begin so, with what can be read of them. */
export function unspool<Item>(folder: string, prefix: string): readonly Spooled<Item>[] {
  return namesIn(folder)
    .filter((name) => name.startsWith(prefix) && name.endsWith('.ndjson'))
    .map((name) => {
      const lines = readFileSync(join(folder, name), 'utf8').split('\n')
      // Only a line with its end was written whole.
      const torn = lines.pop() === '' ? 0 : 1
      return { file: join(folder, name), items: lines.map((line) => unpack(line) as Item), torn }
    })
}

/** Removes a file whose items are in the database. */
export function forget(file: string): void {
  rmSync(file, { force: true })
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
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

function unpack(line: string): unknown {
  return revive(JSON.parse(line))
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
