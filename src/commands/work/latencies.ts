const step = Math.log(1.02)

/** How long calls took, in as little memory for a million of them as for ten: each is remembered to within a hundredth. */
export class Latencies {
  readonly #counts = new Map<number, number>()
  #size = 0

  add(seconds: number): void {
    const place = Math.round(Math.log(Math.max(seconds, 0.000_1)) / step)
    this.#counts.set(place, (this.#counts.get(place) ?? 0) + 1)
    this.#size += 1
  }

  /** The time within which such a share of the calls came back, in milliseconds; null before the first. */
  within(share: number): number | null {
    let seen = 0
    for (const [place, count] of [...this.#counts].toSorted(([a], [b]) => a - b)) {
      seen += count
      if (seen >= share * this.#size) return Math.round(Math.exp(place * step) * 1000)
    }
    return null
  }
}
