/** What did not come in time. */
export const late = Symbol('late')

/** What a promise comes to, or `late` when the time is over or a signal comes; the promise itself goes on. */
export function soon<T>(
  promise: Promise<T>,
  { ms, signal }: { ms: number; signal?: AbortSignal },
): Promise<T | typeof late> {
  return new Promise((resolve, reject) => {
    const giveUp = () => resolve(late)
    const timer = setTimeout(giveUp, ms)
    if (signal?.aborted === true) giveUp()
    signal?.addEventListener('abort', giveUp)
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
    }
    promise.then(resolve, reject).finally(done)
  })
}
