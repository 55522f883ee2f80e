const share = 20

/** Asks for at most a twentieth of the time: what took a second to find out is good for twenty. */
export function seldom<T>(
  ask: () => Promise<T>,
  clock = () => performance.now(),
): () => Promise<T> {
  let kept: { readonly value: T; readonly until: number } | undefined
  return async () => {
    const began = clock()
    if (kept !== undefined && began < kept.until) return kept.value
    const value = await ask()
    const ended = clock()
    kept = { value, until: ended + share * (ended - began) }
    return value
  }
}
