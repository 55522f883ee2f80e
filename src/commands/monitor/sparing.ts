const restShare = 20

/** Asks for at most a twentieth of the time: an answer that took a second is given again for twenty seconds. */
export function askSparingly<T>(
  ask: () => Promise<T>,
  clock = () => performance.now(),
): () => Promise<T> {
  let kept: { readonly value: T; readonly until: number } | undefined
  return async () => {
    const began = clock()
    if (kept !== undefined && began < kept.until) return kept.value
    const value = await ask()
    const ended = clock()
    kept = { value, until: ended + restShare * (ended - began) }
    return value
  }
}
