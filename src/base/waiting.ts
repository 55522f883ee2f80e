// Waits with a limit, and closes what a command opened.

import { setTimeout as timer } from 'node:timers/promises'

/** Result of a promise that did not settle in time. */
export const late = Symbol('late')

/** Awaits a promise up to a time limit or a signal, then gives `late`; the promise itself goes on. */
export function within<T>(
  promise: Promise<T>,
  { ms, signal }: { ms: number; signal?: AbortSignal },
): Promise<T | typeof late> {
  return new Promise((resolve, reject) => {
    const giveUp = () => resolve(late)
    const timeout = setTimeout(giveUp, ms)
    if (signal?.aborted === true) giveUp()
    signal?.addEventListener('abort', giveUp)
    const done = () => {
      clearTimeout(timeout)
      signal?.removeEventListener('abort', giveUp)
    }
    promise.then(resolve, reject).finally(done)
  })
}

/** A promise that is awaited later: until then its error must not end the process. */
export function awaitedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}

/** Waits a while, or until a signal comes. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await timer(ms, undefined, signal === undefined ? {} : { signal })
  } catch (error) {
    if (signal?.aborted !== true) throw error
  }
}

interface Closer {
  readonly name: string
  readonly close: () => Promise<unknown>
}

/** Time limit of each close; the end of the process closes the rest. */
const patienceMs = 30_000

/** Closes in reverse order of opening, every one of them, and reports all failures together. */
export class Closers {
  readonly #open: Closer[] = []

  /** Registers how a resource is closed on the line that opens it. */
  add<T>(name: string, resource: T, close: (resource: T) => Promise<unknown>): T {
    this.#open.push({ name, close: () => close(resource) })
    return resource
  }

  /** Safe to call twice: what was closed is not closed again. */
  async close(): Promise<void> {
    const failures: unknown[] = []
    for (let closer = this.#open.pop(); closer !== undefined; closer = this.#open.pop()) {
      try {
        await closePatiently(closer)
      } catch (cause) {
        failures.push(new Error(`expected ${closer.name} to close`, { cause }))
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'not everything could be closed')
  }
}

async function closePatiently({ name, close }: Closer): Promise<void> {
  const closed = await within(close(), { ms: patienceMs })
  if (closed === late) throw new Error(`${name} took longer than 30 s`)
}

const inTurn: (() => void)[] = []

/**
 * Resolves when each earlier caller has had a round of the event loop. Answers that come in their hundreds are parsed in
 * a round each, and replies of PostgreSQL are read between them: a transaction that waits for its reply may hold a row
 * that all workers wait for.
 */
export function yieldInTurn(): Promise<void> {
  return new Promise((resolve) => {
    inTurn.push(resolve)
    if (inTurn.length === 1) setImmediate(callNext)
  })
}

function callNext(): void {
  inTurn.shift()?.()
  if (inTurn.length > 0) setImmediate(callNext)
}
