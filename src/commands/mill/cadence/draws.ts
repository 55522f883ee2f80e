import { wilson, type Bounds } from './bounds.ts'

/** What the queries that were asked by chance said of a night, or of several. */
export interface Draws {
  /** Queries that could rest, and those of them that chance chose. */
  readonly resting: number
  readonly drawn: number
  /** Of the drawn, those of which the first ten had moved since they were asked before. */
  readonly moved: number
}

/** What the drawn tell of all that could rest. */
export interface Unseen {
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
