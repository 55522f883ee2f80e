// Limits the wait for a promise, and closes the resources that a command opened.

import { setTimeout as timer } from 'node:timers/promises'

/** Returned by `within` if the promise did not settle in time. */
export const late = Symbol('late')

/** Awaits a promise, but returns `late` at the time limit or on a signal. The promise itself is not cancelled. */
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

/** Marks a promise that is awaited later, so that an early rejection does not end the process. */
export function awaitedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}

export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await timer(ms, undefined, signal === undefined ? {} : { signal })
  } catch (error) {
    if (signal?.aborted !== true) throw error
  }
}

/** Time limit for closing each resource. Resources that are still open are closed when the process ends. */
const patienceMs = 30_000

/** Closes all resources, last opened first, and reports all failures together. */
export class Closers {
  readonly #open: { name: string; close: () => Promise<unknown> }[] = []

  /** Registers the function that closes a resource. Call `add` as soon as the resource is open. */
  add<T>(name: string, resource: T, close: (resource: T) => Promise<unknown>): T {
    this.#open.push({ name, close: () => close(resource) })
    return resource
  }

  /** Closes each resource once, even if called twice. */
  async close(): Promise<void> {
    const failures: unknown[] = []
    for (let closer = this.#open.pop(); closer !== undefined; closer = this.#open.pop()) {
      try {
        const closed = await within(closer.close(), { ms: patienceMs })
        if (closed === late) throw new Error(`${closer.name} took longer than 30 s to close`)
      } catch (cause) {
        failures.push(new Error(`expected ${closer.name} to close`, { cause }))
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'not everything could be closed')
  }
}

const inTurn: (() => void)[] = []

/**
 * Waits until each earlier caller has had a turn of the event loop. Many answers are parsed in separate turns,
 * so that PostgreSQL's replies are read between turns. A transaction that waits for a reply may have locked a row
 * that all workers need.
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
