// Starts processes that outlive a command, and checks whether they are alive.

import { type ChildProcess, spawn, spawnSync, type StdioOptions } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type Environment, processEnvironment } from '../config.ts'
import { codeOf, reasonOf } from '../errors.ts'
import { root, workplace } from '../root.ts'
import { pause } from '../waiting.ts'
import { isMissing } from './state.ts'

/** Returns a live process's command line, split into words, or null if the process has ended or is a zombie. */
export function commandOf(pid: number): readonly string[] | null {
  if (process.platform !== 'linux') {
    const line = spawnSync('/bin/ps', ['-ww', '-o', 'command=', '-p', String(pid)]).stdout
    const text = line.toString().trim()
    // The command line is not split, because spaces in a path cannot be distinguished from separators.
    return text === '' || text.includes('<defunct>') ? null : [text]
  }
  try {
    // This file is empty for a zombie process.
    const text = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    return text === '' ? null : text.split('\0')
  } catch (error) {
    if (isMissing(error) || codeOf(error) === 'ESRCH') return null
    throw error
  }
}

/** Asks a process to end, and kills it if needed. `isOurs` guards against a reused pid. */
export async function endProcess(
  pid: number,
  isOurs: () => boolean,
  patienceMs: number,
): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const deadline = Date.now() + (signal === 'SIGTERM' ? patienceMs : 5_000)
    if (!isOurs()) return
    try {
      process.kill(pid, signal)
    } catch (error) {
      if (codeOf(error) === 'ESRCH') return
      throw error
    }
    while (isOurs() && Date.now() < deadline) await pause(20)
  }
}

/**
 * Starts one of our commands in a separate process, and passes only the given settings. If `detached` is true, the
 * process gets its own session, which Ctrl-C does not reach.
 */
export function startProgram(
  job: string,
  {
    args,
    env,
    ...options
  }: { args: readonly string[]; env: Environment; stdio: StdioOptions; detached?: boolean },
): ChildProcess {
  const set = Object.entries(env).filter(([, value]) => value !== undefined)
  // In a checkout, `run.mjs` chooses the file; otherwise, the compiled file is run.
  const words = import.meta.url.endsWith('.ts')
    ? [join(root, 'run.mjs'), job]
    : [join(root, 'dist', 'jobs', `${job}.js`)]
  return spawn(process.execPath, [...words, ...args], {
    cwd: workplace,
    env: Object.fromEntries(set),
    ...options,
  })
}

/** Starts a program that outlives this process, and passes only the settings that it needs. */
export function startDaemon(
  job: string,
  args: readonly string[],
  options: Readonly<Record<'home' | 'databaseUrl' | 'out' | 'log', string>>,
): ChildProcess {
  const { PATH, HOME } = processEnvironment()
  const env = { PATH, HOME, MILL_HOME: options.home, DATABASE_URL: options.databaseUrl }
  const out = openSync(options.out, 'w', 0o600)
  const log = openSync(options.log, 'w', 0o600)
  try {
    const child = startProgram(job, { args, env, stdio: ['ignore', out, log], detached: true })
    // A failure to start the program must not end this process.
    return child.on('error', () => undefined)
  } finally {
    closeSync(out)
    closeSync(log)
  }
}

/** User that a server runs as, or null for the current user. */
export type User = { readonly uid: number; readonly gid: number } | null

// A server outlives the command, so it must not inherit environment variables that may contain keys.
const environment = {
  PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
  LC_ALL: 'C',
  TZ: 'UTC',
  // Storing a batch takes a few megabytes. Returning the memory to the system each time would make storing 20%
  // slower. Keeping the memory costs about 10 MB per connection that stores answers.
  MALLOC_MMAP_THRESHOLD_: '33554432',
  MALLOC_TRIM_THRESHOLD_: '67108864',
  MALLOC_TOP_PAD_: '16777216',
}

/** Runs a server program in a folder open to all users, until it exits. The exit code is null if the start failed. */
export function runAs(user: User, program: string, args: readonly string[]) {
  return new Promise<{ code: number | null; output: string }>((done) => {
    let output = ''
    const failed = (error: unknown) => done({ code: null, output: reasonOf(error) })
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
      child.on('close', (code) => done({ code, output: output.trim() }))
    } catch (error) {
      failed(error)
    }
  })
}

/** Returns the user that must run the server, given the owner of its data folder. PostgreSQL refuses to run as root. */
export function serverUser(owner: { readonly uid: number; readonly gid: number } | null): User {
  if (process.getuid?.() !== 0) return null
  if (owner !== null && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('nobody:'))
  const [, , uid, gid] = line?.split(':') ?? []
  return { uid: Number(uid ?? 65_534) >>> 0, gid: Number(gid ?? 65_534) >>> 0 }
}

export async function canEnter(user: User, folder: string): Promise<boolean> {
  if (user === null) return true
  const ended = await runAs(user, '/bin/sh', ['-c', 'cd "$0"', folder])
  return ended.code === 0
}

// The operating system frees a killed process's memory before its port.
const lettingGoMs = 2_000

/** Waits until no process listens on the local port. Returns false if the port stays in use. */
export async function becomesFree(port: number): Promise<boolean> {
  const deadline = Date.now() + lettingGoMs
  while ((await listen(port)) === null) {
    if (Date.now() > deadline) return false
    await pause(25)
  }
  return true
}

export async function freePort(): Promise<number> {
  const port = await listen(0)
  if (port === null) throw new Error('expected a free port, got none')
  return port
}

async function listen(port: number): Promise<number | null> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return null
  }
  const address = server.address() as AddressInfo
  await once(server.close(), 'close')
  return address.port
}
