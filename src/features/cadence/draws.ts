/** Queries that were sampled at random on one or more nights, and their results. */
interface Draws {
  /** Number of queries that could be skipped, and of those that were sampled. */
  readonly resting: number
  readonly drawn: number
  /** Number of sampled queries whose top ten had changed since they were last bought. */
  readonly moved: number
}

/**
 * Estimates the share and the number of skipped queries that hid a move. The sample is random, so it represents all of
 * them. The bounds are Wilson's, with continuity correction.
 */
export function unseenOf({ resting, drawn, moved }: Draws) {
  const share = wilson(moved, drawn)
  return {
    share,
    queries: {
      expected: share.share === null ? null : share.share * resting,
      low: share.low * resting,
      high: share.high * resting,
    },
  }
}

/** A share with the bounds of its 95 % confidence interval. */
export interface Bounds {
  readonly share: number | null
  readonly low: number
  readonly high: number
}

const z = 1.96

/**
 * Wilson's interval with continuity correction for `some` of `many`. It errs on the wide side, even if none or all of a
 * few observations are positive. `many` may be fractional: the effective number of independent observations.
 */
function wilson(some: number, many: number): Bounds {
  if (many <= 0) return { share: null, low: 0, high: 1 }
  const share = some / many
  const low = lower(share, many)
  return { share, low, high: 1 - lower(1 - share, many) }
}

function lower(share: number, many: number): number {
  if (share === 0) return 0
  const root =
    z * Math.sqrt(Math.max(0, z * z - 2 - 1 / many + 4 * share * (many * (1 - share) + 1)))
  return Math.max(0, (2 * many * share + z * z - 1 - root) / (2 * (many + z * z)))
}

/** Counts of correlated observations: the moves of one query. */
interface Cluster {
  readonly some: number
  readonly many: number
}

/**
 * Wilson's interval for clustered observations. Moves of one query tend to be late together, so they count as fewer
 * observations; the variance between clusters determines how many.
 */
export function clustered(clusters: readonly Cluster[]): Bounds {
  const held = clusters.filter(({ many }) => many > 0)
  const many = held.reduce((sum, one) => sum + one.many, 0)
  const some = held.reduce((sum, one) => sum + one.some, 0)
  if (held.length < 2)
    return { ...wilson(some, Math.min(many, held.length)), share: many === 0 ? null : some / many }
  const share = some / many
  const apart = held.reduce((sum, one) => sum + (one.some - share * one.many) ** 2, 0)
  const variance = (apart / many ** 2) * (held.length / (held.length - 1))
  const independent =
    variance === 0 ? held.length : Math.min(many, (share * (1 - share)) / variance)
  const { low, high } = wilson(share * independent, independent)
  return { share, low, high }
}
