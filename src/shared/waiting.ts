import { setTimeout as timer } from 'node:timers/promises'

/** What did not come in time. */
export const late = Symbol('late')

/** What a promise comes to, or `late` when the time is over or a signal comes; the promise itself goes on. */
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
