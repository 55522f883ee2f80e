// Files and a lock that the commands of one MILL_HOME share.

import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { Misuse, Unreachable, WrongDatabase } from '../errors.ts'
import { pause } from '../waiting.ts'

const shape = z.object({ data: z.string(), port: z.number(), password: z.string() })

/** Address and password of the server of one MILL_HOME. */
export interface State {
  /** The data folder, absolute. */
  readonly data: string
  readonly port: number
  readonly password: string
}

const stateFile = 'postgres.json'

/** Null before the first start. */
export function readState(home: string): State | null {
  const text = readIfThere(join(home, stateFile))
  if (text === null) return null
  const state = shape.parse(JSON.parse(text))
  return { ...state, data: resolve(home, state.data) }
}

/** Data inside the home are named relative to it, so that a moved home finds them. */
export function writeState(home: string, state: State): void {
  const inside = state.data.startsWith(`${home}/`)
  const data = inside ? state.data.slice(home.length + 1) : state.data
  writePrivate(join(home, stateFile), `${JSON.stringify({ ...state, data })}\n`)
}

/** The address for clients. */
export function urlOf(state: State, database = 'querymill'): string {
  return `postgres://querymill:${state.password}@127.0.0.1:${state.port}/${database}`
}

/** Refuses data that another release of PostgreSQL made: it cannot read them. */
export function checkMajor(data: string, major: number): void {
  const found = readMajor(data)
  if (found === major) return
  throw new WrongDatabase(
    `expected data of PostgreSQL ${major} in ${data}, got data of PostgreSQL ${found ?? 'unknown'}; ` +
      `go back to the release of this program that made them and copy what you need with npm run export, or set MILL_HOME to a new folder`,
  )
}

function readMajor(data: string): number | null {
  try {
    return Number(readFileSync(join(data, 'PG_VERSION'), 'utf8'))
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

// Nothing done under the lock takes longer; whoever holds it this long was stopped in mid-work.
const abandonedMs = 120_000

/** One process at a time goes through, and a lock whose holder died is taken over. */
export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const token = `${process.pid} ${randomBytes(8).toString('hex')}`
  const deadline = Date.now() + 2 * abandonedMs
  while (!take(file, token)) {
    if (Date.now() > deadline) {
      throw new Unreachable(
        `expected ${file} to come free, got another command that holds it; end that command, or delete the file`,
      )
    }
    clearAbandoned(file)
    await pause(20 + Math.random() * 30)
  }
  try {
    return await work()
  } finally {
    if (read(file) === token) rmSync(file, { force: true })
  }
}

/** A link appears with its whole content or not at all, so nobody ever reads half a token. */
function take(file: string, token: string): boolean {
  const own = `${file}.${token.replace(' ', '-')}`
  writeFileSync(own, token, { mode: 0o600 })
  try {
    linkSync(own, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(own, { force: true })
  }
}

function clearAbandoned(file: string): void {
  const token = read(file)
  if (token === null || isHeld(file, token)) return
  const aside = `${file}.${process.pid}-aside`
  try {
    renameSync(file, aside)
    // Somebody else may have cleared it first and taken the lock since: then it goes back to them.
    if (read(aside) !== token) linkSync(aside, file)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code !== 'ENOENT' && code !== 'EEXIST') throw error
  } finally {
    rmSync(aside, { force: true })
  }
}

function isHeld(file: string, token: string): boolean {
  try {
    if (Date.now() - statSync(file).mtimeMs > abandonedMs) return false
    process.kill(Number(token.split(' ')[0]), 0)
    return true
  } catch (error) {
    // EPERM: alive, and of another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** True for the error of a file or folder that is not there. */
export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

/** The text of a file, or null when there is none. */
export function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (isMissing(error)) return null
    throw new Misuse(
      `expected ${file} to be readable, got ${(error as Error).message}; use the account that made it, or set MILL_HOME to a folder of your own`,
      { cause: error },
    )
  }
}

/** Owner of a file or folder; null when there is none. */
export function ownerOf(path: string): { uid: number; gid: number } | null {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? null : { uid: found.uid, gid: found.gid }
}

/** Replaces a file that holds a secret in one step: a reader sees the old text or the new one. */
export function writePrivate(file: string, text: string): void {
  const aside = `${file}.${randomBytes(6).toString('hex')}`
  writeFileSync(aside, text, { mode: 0o600, flag: 'wx' })
  renameSync(aside, file)
}

/**
 * Makes a folder and those above it; false when it is there already. Level by level: asked for all at once, Node
 * tries for ever where the system calls a folder missing that it does not let be made, as under /proc.
 */
function makeFolders(folder: string): boolean {
  const isThere = () => statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true
  if (isThere()) return false
  const parent = dirname(folder)
  if (parent !== folder) makeFolders(parent)
  try {
    mkdirSync(folder)
    return true
  } catch (error) {
    // Another command has made it meanwhile.
    if (isThere()) return false
    throw error
  }
}

/** Makes MILL_HOME when it is not there, and gives its real path, so that two names of it are one place. */
export function openHome(home: string): string {
  try {
    const made = makeFolders(home)
    if (process.getuid?.() !== 0) {
      if (made) chmodSync(home, 0o700)
    } else if (made || readdirSync(home).length === 0) {
      // As root the server runs as another user, who has to pass through; no file inside is for others to read.
      chmodSync(home, 0o711)
    }
    return realpathSync(home)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === undefined) throw cause
    throw new Misuse(
      `MILL_HOME: expected a folder that can be made and written, got ${(cause as Error).message}; set MILL_HOME to a folder of your own`,
      { cause },
    )
  }
}
