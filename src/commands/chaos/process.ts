import { appendFileSync } from 'node:fs'
import { startProgram } from '../../embedded/program.ts'
import type { Environment } from '../../shared/config.ts'

/** A command of the mill that runs as a process of its own, and whose words are listened to. */
export interface Program {
  readonly pid: number
  /** Its exit code; null when a signal ended it. */
  readonly ended: Promise<number | null>
  readonly over: () => boolean
  readonly signal: (name: NodeJS.Signals) => void
  /** The first line it prints. */
  readonly firstLine: Promise<string>
  readonly lastWords: () => string
}

export interface LaunchOptions {
  readonly args?: readonly string[]
  readonly env: Environment
  /** Takes everything that it says. */
  readonly log: string
}

/** Starts a command with these settings and no others, and listens to it. */
export function launch(job: string, { args = [], env, log }: LaunchOptions): Program {
  const child = startProgram(job, { args, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  let printed = ''
  let tellFirst: (line: string) => void = () => undefined
  const firstLine = new Promise<string>((done) => {
    tellFirst = done
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      appendFileSync(log, text)
      said = (said + text).slice(-4_000)
    })
  }
  child.stdout?.on('data', (text: string) => {
    printed = (printed + text).slice(0, 10_000)
    if (printed.includes('\n')) tellFirst(printed.slice(0, printed.indexOf('\n')))
  })
  let over = false
  const ended = new Promise<number | null>((done, fail) => {
    child.once('error', fail)
    child.once('close', (code) => {
      over = true
      tellFirst(printed)
      done(code)
    })
  })
  return {
    pid: child.pid ?? 0,
    ended,
    over: () => over,
    signal: (name) => child.kill(name),
    firstLine,
    lastWords: () => said,
  }
}
