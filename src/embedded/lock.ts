import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Unreachable } from '../shared/errors.ts'
import { isMissing } from './files.ts'
import { pause } from '../shared/waiting.ts'

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
