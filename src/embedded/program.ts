import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { processEnvironment } from '../shared/config.ts'
import { root } from '../shared/root.ts'

/** A program of ours that is started for the machine, not for one command. */
export interface Program {
  readonly job: string
  readonly args: readonly string[]
  readonly home: string
  readonly databaseUrl: string
}

/** What runs a program: the sources through tsx, or the compiled files as they are. */
function wordsFor(job: string): readonly string[] {
  return import.meta.url.endsWith('.ts')
    ? ['--import', 'tsx', join(root, 'jobs', `${job}.ts`)]
    : [join(root, 'dist', 'jobs', `${job}.js`)]
}

export interface Started {
  readonly pid: number
  /** Null while it runs. */
  readonly exit: () => number | null
  readonly ended: Promise<number>
  /** From here on our own process may end before it. */
  readonly letGo: () => void
}

/** Starts it in a session of its own, where no Ctrl-C reaches it, with nothing of our settings but what it needs. */
export function startProgram(program: Program, files: { out: string; log: string }): Started {
  const { PATH, HOME } = processEnvironment()
  const env = { PATH, HOME, MILL_HOME: program.home, DATABASE_URL: program.databaseUrl }
  const out = openSync(files.out, 'w', 0o600)
  const log = openSync(files.log, 'w', 0o600)
  try {
    const child = spawn(process.execPath, [...wordsFor(program.job), ...program.args], {
      cwd: root,
      env,
      detached: true,
      stdio: ['ignore', out, log],
    })
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
