// Caches figures computed from stored days, separately for each database. The figures for a key never change.

/** Returns a function that caches figures by key. If the key is null, the figures are read every time. */
export function storedFigures<Figures>(most: number) {
  const known = new WeakMap<object, Map<string, Figures>>()
  return async (database: object, key: string | null, read: () => Promise<Figures>) => {
    if (key === null) return read()
    const own = known.get(database) ?? new Map<string, Figures>()
    known.set(database, own)
    const stored = own.get(key)
    if (stored !== undefined) return stored
    const found = await read()
    const [oldest] = own.keys()
    if (own.size >= most && oldest !== undefined) own.delete(oldest)
    own.set(key, found)
    return found
  }
}
