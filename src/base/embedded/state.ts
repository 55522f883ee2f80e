// Files in MILL_HOME, and the lock that commands use to share these files.

import { npmRun } from '../cli/commands.ts'
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
import { codeOf, Misuse, reasonOf, Unreachable, WrongDatabase } from '../errors.ts'
import { pause } from '../waiting.ts'

const shape = z.object({ data: z.string(), port: z.number(), password: z.string() })

/** Port, password and data folder (an absolute path) of the server in MILL_HOME. */
export type State = Readonly<z.output<typeof shape>>

const stateFile = 'postgres.json'

export function readState(home: string): State | null {
  const text = readIfThere(join(home, stateFile))
  if (text === null) return null
  const state = shape.parse(JSON.parse(text))
  return { ...state, data: resolve(home, state.data) }
}

/** Stores the state. A data folder inside the home is stored as a relative path, so that the home can be moved. */
export function writeState(home: string, state: State): void {
  const inside = state.data.startsWith(`${home}/`)
  const data = inside ? state.data.slice(home.length + 1) : state.data
  writePrivate(join(home, stateFile), `${JSON.stringify({ ...state, data })}\n`)
}

export function urlOf(state: State, database = 'querymill'): string {
  return `postgres://querymill:${state.password}@127.0.0.1:${state.port}/${database}`
}

/** Throws if the data is from a different major release of PostgreSQL, which this release cannot read. */
export function checkMajor(data: string, major: number): void {
  const found = readIfThere(join(data, 'PG_VERSION'))?.trim() ?? 'unknown'
  if (Number(found) === major) return
  throw new WrongDatabase(
    `expected data from PostgreSQL ${major} in ${data}, got data from PostgreSQL ${found}; ` +
      `export your data with ${npmRun('export')} in the release that wrote the data, or set MILL_HOME to a new folder`,
  )
}

// Maximum time that a process may hold the lock. A process that holds the lock for longer is assumed to be dead.
const abandonedMs = 120_000

/** Runs `work` in one process at a time. Takes over the lock if its holder has died. */
export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const token = `${process.pid} ${randomBytes(8).toString('hex')}`
  const deadline = Date.now() + 2 * abandonedMs
  while (!take(file, token)) {
    if (Date.now() > deadline) {
      throw new Unreachable(
        `another command is using ${file}; stop that command, or delete the file`,
      )
    }
    clearAbandoned(file)
    await pause(20 + Math.random() * 30)
  }
  try {
    return await work()
  } finally {
    if (readIfThere(file) === token) rmSync(file, { force: true })
  }
}

/** Acquires the lock by creating a hard link, which appears with its full content. No process reads a partial token. */
function take(file: string, token: string): boolean {
  const own = `${file}.${token.replace(' ', '-')}`
  writeFileSync(own, token, { mode: 0o600 })
  try {
    linkSync(own, file)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  } finally {
    rmSync(own, { force: true })
  }
}

function clearAbandoned(file: string): void {
  const token = readIfThere(file)
  if (token === null || isHeld(file, token)) return
  const aside = `${file}.${process.pid}-aside`
  try {
    renameSync(file, aside)
    // Restores the lock of another process that replaced the old lock in the meantime.
    if (readIfThere(aside) !== token) linkSync(aside, file)
  } catch (error) {
    if (!isMissing(error) && codeOf(error) !== 'EEXIST') throw error
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
    // EPERM: the process is alive and belongs to another user.
    return codeOf(error) === 'EPERM'
  }
}

export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT'
}

export function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (isMissing(error)) return null
    throw new Misuse(
      `expected ${file} to be readable, got ${reasonOf(error)}; use the account that created it, or set MILL_HOME to a folder of your own`,
      { cause: error },
    )
  }
}

/** Atomically replaces a file that contains a secret: readers see either the old or the new text. */
export function writePrivate(file: string, text: string): void {
  const aside = `${file}.${randomBytes(6).toString('hex')}`
  writeFileSync(aside, text, { mode: 0o600, flag: 'wx' })
  renameSync(aside, file)
}

/**
 * Creates a folder and its parents, or returns false if the folder already exists. Node's recursive mkdir hangs
 * in places such as /proc, where the system reports a folder as missing but refuses to create it.
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
    // Another command created the folder in the meantime.
    if (isThere()) return false
    throw error
  }
}

/** Creates MILL_HOME if needed. Returns its real path, which is the same for all links to the folder. */
export function openHome(home: string): string {
  try {
    const made = makeFolders(home)
    if (process.getuid?.() !== 0) {
      if (made) chmodSync(home, 0o700)
    } else if (made || readdirSync(home).length === 0) {
      // Other users, such as the server's user, may traverse the folder but not read its files.
      chmodSync(home, 0o711)
    }
    return realpathSync(home)
  } catch (cause) {
    if (codeOf(cause) === null) throw cause
    throw new Misuse(
      `MILL_HOME: expected a folder that can be created and written to, got ${reasonOf(cause)}; set MILL_HOME to a folder of your own`,
      { cause },
    )
  }
}
