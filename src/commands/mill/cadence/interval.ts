/** A query with the changes a night that are expected of it. */
export interface Paced {
  readonly rate: number
  /** From 0 to 1, always the same for a query: where others of its rate are rounded down, it may be rounded up. */
  readonly spread: number
}

/** Which intervals there may be, and how much of daily asking they may cost. */
export interface PaceLimits {
  readonly longest: number
  readonly share: number
  /** Share of the sleeping that is asked by chance each night. */
  readonly chance: number
}

/** Where there is money enough a query waits no longer than this: one change in a hundred nights is waited for three or four. */
const leastPatience = 0.75

/**
 * Nights between two askings: patience by the cube root of the changes a night. Of all ways to spread so many askings
 * over queries this one makes the sum of squared waits of all changes least: eight times as many changes halve the wait.
 */
export function intervalFor({ rate, spread }: Paced, patience: number, longest: number): number {
  const nights = Math.floor(patience / Math.cbrt(rate) + spread)
  return Math.min(Math.max(nights, 1), Math.max(longest, 1))
}

/** One patience for all queries of a list: as little as keeps it within its share of daily asking. */
export function patienceFor(
  queries: readonly Paced[],
  { longest, share, chance }: PaceLimits,
): number {
  const allowed = share * queries.length
  const cost = (patience: number) =>
    queries.reduce((sum, query) => {
      const asked = 1 / intervalFor(query, patience, longest)
      return sum + asked + chance * (1 - asked)
    }, 0)
  if (cost(leastPatience) <= allowed) return leastPatience
  let below = leastPatience
  // With this patience the most restless query waits as long as any may: nothing costs less.
  const mostRestless = queries.reduce((most, { rate }) => Math.max(most, rate), 0)
  let above = longest * Math.max(1, Math.cbrt(mostRestless))
  for (let halving = 0; halving < 20; halving++) {
    const middle = (below + above) / 2
    if (cost(middle) <= allowed) above = middle
    else below = middle
  }
  return above
}
