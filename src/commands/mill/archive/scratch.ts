import { createHash } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { codeOf } from '../../../shared/errors.ts'
import { unwritable } from './disk.ts'

const prefix = 'querymill-archive-'

/** Makes a folder for files that nobody needs once they were read; its name tells whose it is. */
export async function makeScratch(): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), `${prefix}${processes()}-${process.pid}-`))
  } catch (cause) {
    throw unwritable(tmpdir(), cause, 'set TMPDIR to another folder')
  }
}

/** Clears away what commands left that were killed; whoever lives keeps what is his. */
export async function clearScratch(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => [])
  for (const name of names.filter((each) => isLeft(each))) {
    const path = join(tmpdir(), name)
    const found = await lstat(path).catch(() => null)
    if (found === null || !found.isDirectory() || found.uid !== process.getuid?.()) continue
    // Another archive may be clearing the same folder; what cannot be removed is in nobody's way.
    await rm(path, { recursive: true, force: true }).catch(() => undefined)
  }
}

/** True: a folder of a process that was among those that this one sees, and is gone. */
function isLeft(name: string): boolean {
  if (!name.startsWith(prefix)) return false
  const [among, pid] = name.slice(prefix.length).split('-')
  return among === processes() && /^[1-9]\d*$/.test(pid ?? '') && !lives(Number(pid))
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Somebody else's lives as well.
    return codeOf(error) !== 'ESRCH'
  }
}

/** Among which processes a number means one: containers that share a folder each count from 1. */
function processes(): string {
  const space = process.platform === 'linux' ? readlinkSync('/proc/self/ns/pid') : ''
  return createHash('sha256').update(`${hostname()} ${space}`).digest('hex').slice(0, 12)
}
