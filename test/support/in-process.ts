// runHere('status', ['--json'], env) → { code, signal, stdout, stderr }: a command of the project in this process, as its
// job runs it. A process of its own costs a second of CPU before its first line; most tests are about what a command says
// and does. What a process is (signals, memory, ending with sockets open) is tested with `start` of run.ts.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { EventEmitter } from 'node:events'
import { writeSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { expect } from 'vitest'
import { root } from '../../src/base/root.ts'
import type { Environment } from '../../src/base/config.ts'

export interface Result {
  /** The exit code, or the name of the signal that ended the process: a failed expectation shows it. */
  readonly code: number | NodeJS.Signals | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

interface Invocation {
  readonly argv: string[]
  readonly env: Record<string, string>
  readonly stdin: PassThrough
  /** What it listens to of the process and its streams, to be forgotten at its end. */
  readonly forget: (() => void)[]
  readonly output: { stdout: string; stderr: string }
  readonly exit: (code: number) => void
}

const invocations = new AsyncLocalStorage<Invocation>()
let count = 0

/** Runs a command of the project to its end. Several may run at the same time. */
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
  // A job runs when it is loaded: each time under another address, while what it imports is loaded once.
  const address = `../../jobs/${command}.ts?invocation=${count}`
  const loaded = invocations.run(invocation, () => import(/* @vite-ignore */ address))
  const code = await Promise.race([exited, loaded.then(() => exited)])
  process.exitCode = undefined
  for (const forget of invocation.forget) forget()
  return { code, signal: null, ...output }
}

let replaced = false

/** Each invocation sees arguments, settings and streams of its own; everything else sees the process as it is. */
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
 * Replaces `process.exit` for the rest of this process's life: the test runner gives the true one back after each file, and
 * what a test left running would end the process, and the next file with it, without a word.
 */
export function guardExit(): void {
  if (guarded) return
  guarded = true
  Object.defineProperty(process, 'exit', {
    get: () => exitHere,
    set() {
      // What the runner puts there after each file is not taken.
    },
  })
  process.on('exit', (code) => {
    // When the runner lets this process go, it stops listening first.
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
