import type { Comparison } from './sight.ts'

/** What is believed of a query that nobody has seen change or rest: half a change in two nights. */
const first = { changes: 0.5, nights: 2 }
/** After so many nights a night counts half: in what is usual, and in what is so just now. */
const halfLives = { usual: 28, now: 3 }
/** How many nights of now the usual weighs: one change wakes a quiet query, some quiet nights let it sleep again. */
const trust = 4

/**
 * Changes a night, as expected of the nights to come: changes seen by nights watched, newer ones weighing more. The
 * greater of what is usual and what is so just now, since a burst or a new regime begins with one change.
 */
export function changeRate(steps: readonly Comparison[], today: number): number {
  const usual = estimate(steps, today, { ...first, halfLife: halfLives.usual })
  const before = { changes: usual * trust, nights: trust }
  return Math.max(usual, estimate(steps, today, { ...before, halfLife: halfLives.now }))
}

/** The mean of a Gamma distribution: what was believed before, and on top of it what was seen and how long was watched. */
function estimate(
  steps: readonly Comparison[],
  today: number,
  { changes, nights, halfLife }: { changes: number; nights: number; halfLife: number },
): number {
  const weights = weightsOf(halfLife)
  let seen = changes
  let watched = nights
  for (const { since, day, moves } of steps) {
    const last = weights[today - day] ?? 0
    if (moves > 0) seen += last
    // The weights of all nights after the answer before, up to this one.
    watched += (last - (weights[today - since] ?? 0)) / (1 - 2 ** (-1 / halfLife))
  }
  return seen / watched
}

const kept = new Map<number, readonly number[]>()

/** What a night counts, by how many nights ago it was; nothing after three years. */
function weightsOf(halfLife: number): readonly number[] {
  const known = kept.get(halfLife)
  if (known !== undefined) return known
  const weights = Array.from({ length: 1100 }, (_, ago) => 2 ** (-ago / halfLife))
  kept.set(halfLife, weights)
  return weights
}
