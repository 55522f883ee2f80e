import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { Misuse } from '../shared/errors.ts'

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

/** Who owns a file or folder, or null when there is none. */
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
