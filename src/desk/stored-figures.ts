// Caches figures that are computed from stored days, for each database. The same key always has the same figures.

export class StoredFigures<Figures> {
  readonly #known = new WeakMap<object, Map<string, Figures>>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  /** Returns the figures for a key, and reads them on first use. Without a key, reads the figures every time. */
  async get(database: object, key: string | null, read: () => Promise<Figures>): Promise<Figures> {
    if (key === null) return read()
    const own = this.#known.get(database) ?? new Map<string, Figures>()
    this.#known.set(database, own)
    const known = own.get(key)
    if (known !== undefined) return known
    const found = await read()
    const [oldest] = own.keys()
    if (own.size >= this.#most && oldest !== undefined) own.delete(oldest)
    own.set(key, found)
    return found
  }
}
