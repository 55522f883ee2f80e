// Answers that could not be written to the database: kept in a file until they can.

import { randomBytes } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  futimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { count } from '../../base/cli/text.ts'
import { setBack } from '../../base/database/trouble.ts'
import { asError, codeOf, Misuse, Unreachable } from '../../base/errors.ts'
import type { Clerk, Entry } from '../ledger/settle.ts'
import type { Mill } from '../mill.ts'
import { openBatch } from './batch.ts'

/** Room that is taken for an answer: twice its body and more, for a body of some forty kilobytes. */
const bytesOfAnswer = 128 * 1024

/** Where answers wait that could not be written to the database. */
function spoolFolder(mill: Mill): string {
  return `${mill.config.home}/spool`
}

/** Fails before anything is bought when paid answers could not be kept in a file. */
export function expectFolder(mill: Mill): void {
  const folder = spoolFolder(mill)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (cause) {
    throw new Misuse(
      `expected MILL_HOME to be a folder where paid answers can be kept while the database is away, got ${codeOf(cause) ?? 'an error'} for ${folder}; correct MILL_HOME, or its rights`,
      { cause },
    )
  }
}

/** Takes room for every answer that may be on its way at once; buys nothing where there is none. */
export function takeRoom(mill: Mill, calls: number): Reserve {
  const folder = spoolFolder(mill)
  const bytes = calls * bytesOfAnswer
  try {
    return Reserve.take(folder, bytes)
  } catch (cause) {
    throw new Unreachable(
      `expected ${(bytes / 1_000_000).toFixed(1)} MB of room in ${folder}, where ${calls} paid answers are kept when the database is away, got ${codeOf(cause) ?? 'an error'}: nothing is bought; make room, or lower MILL_CONCURRENCY`,
      { cause },
    )
  }
}

interface Kept {
  readonly account: number
  /** Named so in the files, which an older release may have left. */
  readonly ended: Entry
}

/** Settles what a worker that ended left in files: before anything is bought, and before calls are given up. */
export async function replay(
  mill: Mill,
  clerk: Clerk,
  tell: (line: string) => void,
): Promise<void> {
  for (const { file, items, torn } of unspool<Kept>(spoolFolder(mill), mill.installation)) {
    const strangers: Entry[] = []
    for (const account of new Set(items.map((item) => item.account))) {
      const entries = items.filter((item) => item.account === account).map((item) => item.ended)
      await settleAll(mill, { ...clerk, account }, { entries: entries.map(named), strangers })
    }
    const left = strangers.length + torn
    tell(`${items.length - strangers.length} answers kept in ${file} are in the database now`)
    if (left === 0) {
      forget(file)
    } else {
      tell(
        `${left} others in it are torn or of calls that this database does not know; they stay in ${setAside(file)}`,
      )
    }
  }
}

/** Files of an older release name a call by its number alone. */
function named(entry: Omit<Entry, 'call'> & { readonly call: Entry['call'] | number }): Entry {
  const { call } = entry
  return { ...entry, call: typeof call === 'number' ? { id: call, mark: null } : call }
}

/** Writes them like answers that have just come: together, and one by one where one is refused. */
async function settleAll(
  mill: Mill,
  clerk: Clerk,
  { entries, strangers }: { entries: readonly Entry[]; strangers: Entry[] },
): Promise<void> {
  let giveUp: (error: Error) => void = () => undefined
  const stuck = new Promise<never>((_resolve, reject) => (giveUp = reject))
  const batch = openBatch(mill, clerk, {
    lanes: 1,
    counted: true,
    onAway: (away) => {
      if (away) giveUp(new Unreachable('expected the database within reach, got none; try again'))
    },
    onStuck: (cause) => giveUp(asError(cause)),
    onStrangers: (found) => void strangers.push(...found),
  })
  try {
    await Promise.race([
      Promise.all(entries.map(async (entry) => batch.add(withoutKey(entry)))),
      stuck,
    ])
  } finally {
    batch.abandon()
  }
}

/** Without the refusal of a key: another one may be set by now, and its own first call tells whether it is good. */
function withoutKey(entry: Entry): Entry {
  return entry.signal === 'key_refused' ? { ...entry, signal: null } : entry
}

/** What became of answers that the database did not take. */
interface Aftermath {
  /** Null when none could be kept. */
  readonly file: string | null
  readonly kept: number
  /** How many are lost and what they cost; null when all are kept. */
  readonly lost: Unreachable | null
}

/** Keeps what could not be written to the database, as much of it as there is room for: first what was paid for. */
export function keep(
  mill: Mill,
  { account, reserve }: { account: number; reserve: Reserve | null },
  entries: readonly Entry[],
): Aftermath {
  const folder = spoolFolder(mill)
  const name = `${mill.installation}-${process.pid}-${Date.now()}`
  const items = entries.toSorted((a, b) => worth(b) - worth(a)).map((ended) => ({ account, ended }))
  try {
    const { file, left, cause } = spool({ folder, name, reserve }, items)
    if (left.length === 0) return { file, kept: items.length, lost: null }
    return { file, kept: items.length - left.length, lost: lossOf(folder, left, cause) }
  } catch (cause) {
    return { file: null, kept: 0, lost: lossOf(folder, items, cause) }
  }
}

/** An answer is worth keeping even if it told no price. */
function worth({ effect, creditsUsed }: Entry): number {
  return (effect.kind === 'answered' ? 0.5 : 0) + (creditsUsed ?? 0)
}

function lossOf(folder: string, items: readonly Kept[], cause: unknown): Unreachable {
  const answers = items.filter(({ ended }) => ended.effect.kind === 'answered')
  const prices = answers.flatMap(({ ended }) => ended.creditsUsed ?? [])
  const credits = prices.reduce((sum, price) => sum + price, 0)
  const untold = answers.length - prices.length
  const worths = [`${credits} credits worth`, ...(untold === 0 ? [] : [`${untold} told no price`])]
  return new Unreachable(
    `expected room in ${folder} for what the database did not take, got ${codeOf(cause) ?? 'an error'}: ${count(answers.length, 'paid answer')} lost, ${worths.join(', ')}, and may be bought again; make room before the next start`,
    { cause },
  )
}

/** Keeps answers that belong to no call of the database where nobody takes them for unsettled; the error says where. */
export function notKnown(
  mill: Mill,
  room: { account: number; reserve: Reserve | null },
  left: readonly Entry[],
): Error {
  const { file, lost } = keep(mill, room, left)
  const aside = file === null ? [] : [`are kept in ${setAside(file)}`]
  const where = [...aside, ...(lost === null ? [] : [lost.message])].join('; ')
  return setBack(`${left.length} paid answers of calls that it does not know ${where}`)
}

/** What was paid for and could not be written to the database, kept in a file until it can. */
interface Spooled<Item> {
  readonly file: string
  readonly items: readonly Item[]
  /** Lines that cannot be read: the disk did not keep what was written. */
  readonly torn: number
}

/** What became of items that were to be kept: the file that holds them, and those that found no room, with the reason. */
interface Spooling<Item> {
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

// No file system makes a hole of it, or finds it twice and keeps it once.
const pieceBytes = 64 * 1024
/** What a host that is gone has left is removed after so long: a worker that lives touches its own. */
const forgottenMs = 86_400_000
const mark = 'reserve-'

let taken = 0

/**
 * Room on the disk, taken before anything is bought: what the database does not take is written over it, also when the
 * disk has been filled since. Named after host and process, so that what a killed worker left is known as such.
 */
export class Reserve {
  readonly file: string
  readonly #handle: number
  #open = true

  private constructor(file: string, handle: number) {
    this.file = file
    this.#handle = handle
  }

  /** Takes so many bytes of the disk that holds the folder; throws when they are not there. */
  static take(folder: string, bytes: number): Reserve {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    sweep(folder)
    taken += 1
    const file = join(folder, `${nameOf(process.pid)}-${taken}`)
    const handle = openSync(file, 'w', 0o600)
    try {
      const piece = randomBytes(Math.min(pieceBytes, bytes))
      for (let at = 0; at < bytes; at += piece.length) writeWhole(handle, piece, at)
      fsyncSync(handle)
    } catch (error) {
      closeSync(handle)
      rmSync(file, { force: true })
      throw error
    }
    return new Reserve(file, handle)
  }

  /** Shows other hosts that somebody lives who took it. */
  touch(): void {
    const now = new Date()
    if (this.#open) futimesSync(this.#handle, now, now)
  }

  /** The open file, to be written over and renamed; null when it was used before, or somebody removed it. */
  use(): number | null {
    if (!this.#open || inodeOf(this.file) !== fstatSync(this.#handle).ino) return null
    this.#open = false
    return this.#handle
  }

  /** Gives the room back, unless it was used. */
  release(): void {
    if (!this.#open) return
    this.#open = false
    closeSync(this.#handle)
    // Not where something else has taken the place of the folder.
    if (inodeOf(this.file) !== undefined) rmSync(this.file, { force: true })
  }
}

/** Writes all of it at this place; the room may end in the middle. */
function writeWhole(handle: number, bytes: Uint8Array, place: number): void {
  for (let done = 0; done < bytes.length;) {
    done += writeSync(handle, bytes, done, bytes.length - done, place + done)
  }
}

function nameOf(pid: number | string): string {
  return `${mark}${hostname()}-${pid}`
}

/** Removes what workers left that were killed: those of this host at once, of others when nobody has touched it for long. */
function sweep(folder: string): void {
  for (const name of readdirSync(folder).filter((entry) => entry.startsWith(mark))) {
    const file = join(folder, name)
    const [, pid] = /-(\d+)-\d+$/.exec(name) ?? []
    const ours = pid !== undefined && name.startsWith(`${nameOf(pid)}-`)
    const gone = ours ? !lives(Number(pid)) : ageOf(file) > forgottenMs
    if (gone) rmSync(file, { force: true })
  }
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function ageOf(file: string): number {
  const modified = statsOf(file)?.mtimeMs
  return modified === undefined ? 0 : Date.now() - modified
}

function inodeOf(file: string): number | undefined {
  return statsOf(file)?.ino
}

/** Undefined where no such file is, or no folder that could hold it. */
function statsOf(file: string): Stats | undefined {
  try {
    return statSync(file)
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
    throw error
  }
}
