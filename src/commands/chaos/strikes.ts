import type { Strikes } from './judge.ts'

/** Everything that the API does wrong, one request in eight or so. */
const faults = [
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
const timeoutMs = 2_500

/** Settings of the workers: a short lease, so that frozen ones outlive it. */
export const workerSettings = {
  MILL_CREDIT_FLOOR: String(floor),
  MILL_LEASE_MS: String(leaseMs),
  MILL_TIMEOUT_MS: String(timeoutMs),
  MILL_MAX_AGE: '0',
}

export type Strike = keyof Strikes

/** The misfortunes, as cards of a pack: each comes up before one comes up again. */
const pack: Readonly<Record<Strike, number>> = {
  kills: 4,
  freezes: 2,
  farewells: 1,
  databaseRestarts: 2,
  redisRestarts: 2,
  flushes: 1,
}

/** Draws misfortunes from packs shuffled by luck; those of Redis only where there is one. */
export function openPack(luck: () => number, redis: boolean): () => Strike {
  const names = (Object.keys(pack) as Strike[]).filter(
    (name) => redis || (name !== 'redisRestarts' && name !== 'flushes'),
  )
  const full = names.flatMap((name) => Array.from({ length: pack[name] }, () => name))
  let left: Strike[] = []
  return () => {
    if (left.length === 0) left = [...full]
    const [card] = left.splice(Math.floor(luck() * left.length), 1)
    return card ?? 'kills'
  }
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
