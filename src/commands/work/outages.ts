/** Parts outside of this process that work depends on. A full disk, or a standby, may be read and not written. */
export type Part = 'the database' | 'a database that can be written' | 'the queue' | 'the API'

/** Remembers since when each part has been out of reach. */
export class Outages {
  readonly #since = new Map<Part, number>()

  mark(part: Part, away: boolean): void {
    if (!away) this.#since.delete(part)
    else if (!this.#since.has(part)) this.#since.set(part, performance.now())
  }

  /** Marks whether the database can be written, and says so whenever that has changed. */
  markDatabase(away: boolean, say: (line: string) => void): void {
    const was = this.away('a database that can be written')
    this.mark('a database that can be written', away)
    if (away && !was) say('the database is out of reach: no call begins until it is back')
    if (!away && was) say('the database is back')
  }

  /** True when the database cannot be written, or does not answer. */
  get mute(): boolean {
    return this.away('the database') || this.away('a database that can be written')
  }

  away(part: Part): boolean {
    return this.#since.has(part)
  }

  /** The parts that are out of reach, one line each. */
  list(): readonly string[] {
    return [...this.#since.keys()].map((part) => `${part} is out of reach`)
  }

  /** The part that has been out of reach for at least this long; null when all answer. */
  longerThan(ms: number): Part | null {
    for (const [part, since] of this.#since) if (performance.now() - since >= ms) return part
    return null
  }
}
