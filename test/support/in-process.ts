// runHere('status', ['--json'], env) → { code, signal, stdout, stderr }: runs a project command in this process, as its
// job does. A separate process costs a second of CPU before its first line, and most tests check only output and
// behaviour. Signals, memory and open sockets at exit are tested with `start` of run.ts.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { EventEmitter } from 'node:events'
import { writeSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { expect } from 'vitest'
import { root } from '../../src/base/root.ts'
import type { Environment } from '../../src/base/config.ts'

export interface Result {
  /** The exit code, or the name of the signal that ended the process, so that a failed expectation shows it. */
  readonly code: number | NodeJS.Signals | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

interface Invocation {
  readonly argv: string[]
  readonly env: Record<string, string>
  readonly stdin: PassThrough
  /** The command's listeners on the process and its streams, to be removed when it ends. */
  readonly forget: (() => void)[]
  readonly output: { stdout: string; stderr: string }
  readonly exit: (code: number) => void
}

const invocations = new AsyncLocalStorage<Invocation>()
let count = 0

/** Runs a project command to completion. Several may run at the same time. */
export async function runHere(
  command: string,
  args: readonly string[],
  env: Environment,
): Promise<Result> {
  replaceProcess()
  const output = { stdout: '', stderr: '' }
  let exit: (code: number) => void = () => undefined
  const exited = new Promise<number>((done) => (exit = done))
  const stdin = new PassThrough()
  stdin.end()
  const invocation: Invocation = {
    argv: [process.execPath, `${root}/jobs/${command}.ts`, ...args],
    env: Object.fromEntries(
      Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    ),
    stdin,
    forget: [],
    output,
    exit,
  }
  count += 1
  // A job runs when it is loaded, so each run uses a different address, while its imports are loaded once.
  const address = `../../jobs/${command}.ts?invocation=${count}`
  const loaded = invocations.run(invocation, () => import(/* @vite-ignore */ address))
  const code = await Promise.race([exited, loaded.then(() => exited)])
  process.exitCode = undefined
  for (const forget of invocation.forget) forget()
  return { code, signal: null, ...output }
}

let replaced = false

/** Each invocation has its own arguments, settings and streams; everything else sees the real process. */
function replaceProcess(): void {
  if (replaced) return
  replaced = true
  replaceValue('argv', ({ argv }) => argv)
  replaceValue('env', ({ env }) => env)
  replaceValue('stdin', ({ stdin }) => stdin)
  for (const name of ['stdout', 'stderr'] as const) replaceWrite(name)
  for (const emitter of [process, process.stdout, process.stderr]) forgetListeners(emitter)
}

let guarded = false

/**
 * Replaces `process.exit` for the rest of this process. The test runner restores it after each file; code that a test
 * left running would then end the process, and the next file with it, without a message.
 */
export function guardExit(): void {
  if (guarded) return
  guarded = true
  Object.defineProperty(process, 'exit', {
    get: () => exitHere,
    set() {
      // The runner's assignments after each file are ignored.
    },
  })
  process.on('exit', (code) => {
    // When the runner ends this process, it stops listening first.
    if (code === 0 && process.listenerCount('message') === 0) return
    writeSync(2, `process ${process.pid} of the tests ended by itself, with ${code}\n`)
  })
}

function exitHere(code?: number | string | null): never {
  const invocation = invocations.getStore()
  if (invocation === undefined) {
    const { testPath = 'no file', currentTestName = 'no test' } = expect.getState()
    throw new Error(
      `expected nothing to end the process of the tests, got process.exit(${code}) during ${currentTestName} of ${testPath}`,
    )
  }
  invocation.exit(Number(code ?? 0))
  return undefined as never
}

function forgetListeners(emitter: EventEmitter): void {
  const on = emitter.on.bind(emitter)
  emitter.on = (name, listener) => {
    invocations.getStore()?.forget.push(() => emitter.removeListener(name, listener))
    return on(name, listener)
  }
}

function replaceValue(
  name: 'argv' | 'env' | 'stdin',
  own: (invocation: Invocation) => unknown,
): void {
  let usual: unknown = process[name]
  Object.defineProperty(process, name, {
    configurable: true,
    enumerable: true,
    get: () => {
      const invocation = invocations.getStore()
      return invocation === undefined ? usual : own(invocation)
    },
    set: (value: unknown) => {
      if (invocations.getStore() === undefined) usual = value
    },
  })
}

function replaceWrite(name: 'stdout' | 'stderr'): void {
  const stream = process[name]
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean
  stream.write = (chunk: Uint8Array | string, ...rest: unknown[]): boolean => {
    const invocation = invocations.getStore()
    if (invocation === undefined) return write(chunk, ...rest)
    invocation.output[name] +=
      typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')
    const written = rest.find((one) => typeof one === 'function')
    if (written !== undefined) setImmediate(written as () => void)
    return true
  }
}
