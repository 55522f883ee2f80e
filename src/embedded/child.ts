import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The user that a server runs as; null: the one who typed the command. */
export type User = { readonly uid: number; readonly gid: number } | null

export interface ProgramResult {
  readonly code: number | null
  readonly output: string
  /** Why the program could not be started at all, as the system's own word. */
  readonly refused: string | null
}

// A server outlives the command: it gets none of its variables, some of which are keys.
const environment = {
  PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
  LC_ALL: 'C',
  TZ: 'UTC',
  // A batch of answers takes a few megabytes for a moment: given back to the system each time and taken anew, they cost
  // a fifth of what storing them costs. Kept, they are some ten megabytes for each connection that stores.
  MALLOC_MMAP_THRESHOLD_: '33554432',
  MALLOC_TRIM_THRESHOLD_: '67108864',
  MALLOC_TOP_PAD_: '16777216',
}

/** Runs a program of the server to its end, from a folder that every user can enter. */
export function runAs(
  user: User,
  program: string,
  args: readonly string[],
): Promise<ProgramResult> {
  return new Promise((done) => {
    let output = ''
    const failed = (error: NodeJS.ErrnoException) =>
      done({ code: null, output: error.message, refused: error.code ?? 'unknown' })
    try {
      const child = spawn(program, args, {
        cwd: '/',
        env: environment,
        stdio: ['ignore', 'pipe', 'pipe'],
        ...user,
      })
      const collect = (chunk: Buffer) => (output += chunk.toString())
      child.stdout.on('data', collect)
      child.stderr.on('data', collect)
      child.on('error', failed)
      child.on('close', (code) => done({ code, output: output.trim(), refused: null }))
    } catch (error) {
      failed(error as NodeJS.ErrnoException)
    }
  })
}

/** Whom a server runs as whose data lie in a folder of this owner: PostgreSQL refuses to be root. */
export function serverUser(owner: { readonly uid: number; readonly gid: number } | null): User {
  if (process.getuid?.() !== 0) return null
  if (owner !== null && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  return nobody()
}

function nobody(): { uid: number; gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('nobody:'))
  const [, , uid, gid] = line?.split(':') ?? []
  return { uid: Number(uid ?? 65_534) >>> 0, gid: Number(gid ?? 65_534) >>> 0 }
}

/** True when the user can walk into the folder, through all that lie above it. */
export async function canEnter(user: User, folder: string): Promise<boolean> {
  if (user === null) return true
  const ended = await runAs(user, '/bin/sh', ['-c', 'cd "$0"', folder])
  return ended.code === 0
}
