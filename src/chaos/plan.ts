import type { Strikes } from './judge.ts'

/** Everything that the API does wrong, one request in eight or so. */
export const faults = [
  { kind: 'status', status: 503, chance: 0.03 },
  { kind: 'status', status: 500, charged: true, chance: 0.01 },
  { kind: 'drop', chance: 0.02 },
  { kind: 'reset', chance: 0.01 },
  { kind: 'cut', how: 'length', chance: 0.01 },
  { kind: 'hang', chance: 0.005 },
  { kind: 'late', what: 'charge', afterMs: 1_500, chance: 0.01 },
  { kind: 'late', what: 'answer', afterMs: 1_500, chance: 0.01 },
  { kind: 'credits', field: 'both', value: 'missing', chance: 0.01 },
  { kind: 'body', body: 'html', chance: 0.005 },
  { kind: 'rate', retryAfter: 'seconds', seconds: 1, chance: 0.003 },
  { kind: 'redirect', chance: 0.002 },
] as const

/** The stand-in at work: prices between one and three credits, answers out of order. */
export function frontKnobs(seed: string, credits: number) {
  return {
    seed,
    credits,
    kind: 'live',
    cost: { least: 1, most: 3 },
    delayMs: { least: 20, most: 400 },
    chargeAt: 'between',
    faults,
  }
}

export const floor = 100
export const leaseMs = 5_000
export const timeoutMs = 2_500

/** Settings of the workers: a short lease, so that frozen ones outlive it. */
export const workerSettings = {
  MILL_CREDIT_FLOOR: String(floor),
  MILL_LEASE_MS: String(leaseMs),
  MILL_TIMEOUT_MS: String(timeoutMs),
  MILL_CONCURRENCY: '8',
  MILL_MAX_AGE: '0',
}

export type Strike = keyof Strikes

/** How often each misfortune is drawn. */
const deck: readonly (readonly [Strike, number])[] = [
  ['kills', 9],
  ['freezes', 5],
  ['farewells', 2],
  ['databaseRestarts', 4],
  ['redisRestarts', 3],
  ['flushes', 1],
]

/** The misfortune that a number between 0 and 1 draws; those of Redis only where there is one. */
export function drawStrike(luck: number, redis: boolean): Strike {
  const cards = deck.filter(([name]) => redis || (name !== 'redisRestarts' && name !== 'flushes'))
  const all = cards.reduce((sum, [, times]) => sum + times, 0)
  let left = luck * all
  for (const [name, times] of cards) {
    left -= times
    if (left < 0) return name
  }
  return 'kills'
}

/** Numbers between 0 and 1 that a seed decides. */
export function luckOf(seed: string): () => number {
  let state = 2_166_136_261
  for (const sign of seed) state = Math.imul(state ^ (sign.codePointAt(0) ?? 0), 16_777_619)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
