import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { processEnvironment, type Environment } from '../shared/config.ts'
import { root, workplace } from '../shared/root.ts'

export interface ProgramOptions {
  readonly args: readonly string[]
  readonly env: Environment
  readonly stdio: StdioOptions
  /** True: a session of its own, where no Ctrl-C reaches it. */
  readonly detached?: boolean
}

/** Starts a command of ours as a process of its own, with these settings and no others. */
export function startProgram(job: string, options: ProgramOptions): ChildProcess {
  const { args, env, stdio, detached = false } = options
  const set = Object.entries(env).filter(([, value]) => value !== undefined)
  return spawn(process.execPath, [...wordsFor(job), ...args], {
    cwd: workplace,
    env: Object.fromEntries(set),
    detached,
    stdio,
  })
}

/** What runs a program: the sources through tsx, or the compiled files as they are. */
function wordsFor(job: string): readonly string[] {
  return import.meta.url.endsWith('.ts')
    ? ['--import', 'tsx', join(root, 'jobs', `${job}.ts`)]
    : [join(root, 'dist', 'jobs', `${job}.js`)]
}

/** A program of ours that is started for the machine, not for one command. */
export interface Daemon {
  readonly job: string
  readonly args: readonly string[]
  readonly home: string
  readonly databaseUrl: string
}

export interface StartedDaemon {
  readonly pid: number
  /** Null while it runs. */
  readonly exit: () => number | null
  readonly ended: Promise<number>
  /** From here on our own process may end before it. */
  readonly letGo: () => void
}

/** Starts it to outlive this process, with nothing of our settings but what it needs. */
export function startDaemon(
  { job, args, home, databaseUrl }: Daemon,
  files: { out: string; log: string },
): StartedDaemon {
  const { PATH, HOME } = processEnvironment()
  const env = { PATH, HOME, MILL_HOME: home, DATABASE_URL: databaseUrl }
  const out = openSync(files.out, 'w', 0o600)
  const log = openSync(files.log, 'w', 0o600)
  try {
    const child = startProgram(job, { args, env, stdio: ['ignore', out, log], detached: true })
    let exit: number | null = null
    const ended = new Promise<number>((done) => {
      const end = (code: number) => {
        exit = code
        done(code)
      }
      child.once('error', () => end(-1))
      child.once('exit', (code) => end(code ?? -1))
    })
    return { pid: child.pid ?? 0, exit: () => exit, ended, letGo: () => child.unref() }
  } finally {
    closeSync(out)
    closeSync(log)
  }
}
