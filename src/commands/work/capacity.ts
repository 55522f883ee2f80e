/** Up to so many lanes each is taken until its answer is stored: a crash leaves at most one unread call a lane. */
export const countedLanes = 16

/** Most answers that are stored together. */
export const mostTogether = 128

/** Answers that may wait to be stored before anything else is bought: they fill the memory, and a crash loses them. */
export const mostUnwritten = 3 * mostTogether

/**
 * Calls reserved before a lane is free for them. None with few lanes, where certainty after a crash is worth more, and
 * none under a rate limit or a cap on calls in flight, which count from the reservation.
 */
export function aheadOf(
  lanes: number,
  { rateLimit, mostInFlight }: { rateLimit: number | null; mostInFlight: number | null },
): number {
  const counted = rateLimit !== null || mostInFlight !== null
  return lanes <= countedLanes || counted ? 0 : Math.ceil(lanes / 4)
}

/**
 * Calls that may be reserved, on their way or waiting to be stored. With few lanes one for each of them: a crash leaves
 * no more than a call a lane unread.
 */
export function mostFlying(lanes: number, ahead: number): number {
  return lanes <= countedLanes ? lanes : lanes + ahead + mostUnwritten
}

/** Slices to work on at once: enough for lanes, calls ahead and answers being stored, since a slice ends with its slowest task. */
export function slotsFor(lanes: number): number {
  const storing = lanes <= countedLanes ? 0 : mostUnwritten
  return Math.ceil((lanes * 1.5 + storing) / 25) + 1
}
