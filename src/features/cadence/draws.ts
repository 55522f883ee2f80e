/** Queries of one or more nights that were asked by chance, and their results. */
interface Draws {
  /** Queries that could rest, and those of them that chance chose. */
  readonly resting: number
  readonly drawn: number
  /** Of the drawn, those of which the first ten had moved since they were asked before. */
  readonly moved: number
}

/** Estimate from the drawn queries for all that could rest. */
interface Unseen {
  /** Share of the resting that hid a move. */
  readonly share: Bounds
  /** The same as so many queries. */
  readonly queries: {
    readonly expected: number | null
    readonly low: number
    readonly high: number
  }
}

/** Chance chose blindly, so that the drawn stand for all: the bounds are Wilson's, with correction for continuity. */
export function unseenOf({ resting, drawn, moved }: Draws): Unseen {
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

/** A share with the bounds between which it lies, with a confidence of 95 %. */
export interface Bounds {
  readonly share: number | null
  readonly low: number
  readonly high: number
}

const z = 1.96

/**
 * Wilson's interval with correction for continuity, for so many of so many that were seen by chance. It errs on the wide
 * side, also where none or all of a few were seen. `many` may be a fraction: as many as would be independent.
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

/** Some of many, counted in a cluster that rises and falls together: a query with its moves. */
interface Cluster {
  readonly some: number
  readonly many: number
}

/**
 * The same for what comes in clusters: moves of one query are seen late together, so they count as fewer. How many fewer
 * is told by how much the clusters differ from each other.
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
