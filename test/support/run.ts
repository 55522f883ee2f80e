// run('enqueue', ['inputs/keywords.csv', '--json'], { DATABASE_URL: url, MILL_HOME: home }) → { code, stdout, stderr }
// start(…) → the same command while it runs: `line(text)` waits until a line on either stream contains the text,
// `kill('SIGTERM')` signals it, `ended` is its result.
// From the caller's environment, it gets only PATH, HOME and TMPDIR.
import { spawn } from 'node:child_process'
import { onTestFailed } from 'vitest'
import { type Environment, processEnvironment } from '../../src/base/config.ts'
import { root } from '../../src/base/root.ts'
import { runHere, type Result } from './in-process.ts'
import { wordsOf } from './job.ts'

export type { Result }

export interface Running {
  readonly pid: number
  readonly ended: Promise<Result>
  readonly kill: (signal: NodeJS.Signals) => void
  /**
   * Resolves with the first line that contains the text, even if it was printed before; rejects if the command ends
   * without it.
   */
  readonly line: (text: string) => Promise<string>
  readonly stdout: () => string
  readonly stderr: () => string
}

/** Runs a project command to completion in this process. */
export async function run(
  command: string,
  args: readonly string[] = [],
  env: Environment = {},
): Promise<Result> {
  const result = await runHere(command, args, env)
  tellWhenRed(
    () => `${[command, ...args].join(' ')} ended with ${result.code}\n${lastLines(result)}`,
  )
  return result
}

/** Runs a project command to completion in a separate process. */
export function runProcess(
  command: string,
  args: readonly string[] = [],
  env: Environment = {},
): Promise<Result> {
  return start(command, args, env).ended
}

/** Starts a project command. */
export function start(
  command: string,
  args: readonly string[] = [],
  env: Environment = {},
): Running {
  const { PATH, HOME, TMPDIR } = processEnvironment()
  const own = Object.entries({ PATH, HOME, TMPDIR, ...env }).filter(
    ([, value]) => value !== undefined,
  )
  const child = spawn(process.execPath, [...wordsOf(command), ...args], {
    cwd: root,
    env: Object.fromEntries(own),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  const waiting = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      output[name] += chunk
      for (const look of waiting) look()
    })
  }
  let over = false
  const begun = performance.now()
  tellWhenRed(() => {
    const state = over ? `ended with ${child.signalCode ?? child.exitCode}` : 'still ran'
    const seconds = ((performance.now() - begun) / 1000).toFixed(1)
    return `${[command, ...args].join(' ')} (process ${child.pid}) ${state}, ${seconds} s after its start\n${lastLines(output)}`
  })
  const ended = new Promise<Result>((done, fail) => {
    child.once('error', fail)
    child.once('close', (code, signal) => {
      over = true
      for (const look of waiting) look()
      done({ code: code ?? signal, signal, ...output })
    })
  })
  const line = (text: string) =>
    new Promise<string>((done, fail) => {
      const look = () => {
        const lines = `${output.stdout}\n${output.stderr}`.split('\n')
        const found = lines.find((one) => one.includes(text))
        if (found === undefined && !over) return
        waiting.delete(look)
        if (found !== undefined) done(found)
        else fail(new Error(`expected a line with ${text}, got:\n${output.stdout}${output.stderr}`))
      }
      waiting.add(look)
      look()
    })
  return {
    pid: child.pid ?? 0,
    ended,
    kill: (signal) => child.kill(signal),
    line,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
  }
}

/** A failed test shows its commands' last output. */
function tellWhenRed(tell: () => string): void {
  try {
    onTestFailed(() => void process.stderr.write(`${tell()}\n`))
  } catch {
    // Started for several tests at once, outside any test.
  }
}

function lastLines({
  stdout,
  stderr,
}: {
  readonly stdout: string
  readonly stderr: string
}): string {
  const last = (text: string) => text.trimEnd().split('\n').slice(-20)
  return [...last(stdout), ...last(stderr)]
    .filter((line) => line !== '')
    .map((line) => `  | ${line}`)
    .join('\n')
}
