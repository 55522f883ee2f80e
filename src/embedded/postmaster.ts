import { realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isMissing, readIfThere } from './files.ts'
import { commandOf } from './process.ts'

/** The server that runs on a data folder, as the folder itself tells. */
export interface Postmaster {
  readonly pid: number
  readonly port: number
}

/** Null when no server runs on the data, whatever a crash or a reboot left behind. */
export function findPostmaster(data: string): Postmaster | null {
  const [pid, , , port] = readIfThere(join(data, 'postmaster.pid'))?.split('\n').map(Number) ?? []
  if (pid === undefined || !isServerOf(pid, data)) return null
  return { pid, port: port ?? 0 }
}

/** Takes away the mark of a server that is gone: its number may belong to another process by now. */
export function clearMark(data: string): void {
  rmSync(join(data, 'postmaster.pid'), { force: true })
}

function isServerOf(pid: number, data: string): boolean {
  const words = commandOf(pid)
  if (words === null) return false
  const at = words.indexOf('-D')
  const folder = words[at + 1]
  // Without its own word for it, a live PostgreSQL is taken for ours: two on one folder would destroy it.
  if (at < 0 || folder === undefined) return words.some((word) => word.includes('postgres'))
  return real(folder) === real(data)
}

function real(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if (isMissing(error)) return path
    throw error
  }
}
