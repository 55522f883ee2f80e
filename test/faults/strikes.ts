/** API faults, in about one in eight requests. */
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

/** Incorrect information in the API's replies. Its balances are always true. */
const lies = [
  { kind: 'credits', field: 'used', value: 'zero', chance: 0.02 },
  { kind: 'credits', field: 'used', value: 'missing', chance: 0.02 },
  { kind: 'echo', chance: 0.01 },
  { kind: 'status', status: 200, charged: true, billed: true, code: 'ODD', chance: 0.005 },
] as const

const dearest = 3

/** Stand-in settings during the run: prices between one and three credits, answers out of order. */
export function frontKnobs(seed: string, { credits, lying }: { credits: number; lying: boolean }) {
  return {
    seed,
    credits,
    kind: 'live',
    cost: { least: 1, most: dearest },
    delayMs: { least: 20, most: 400 },
    chargeAt: 'between',
    faults: lying ? [...lies, ...faults] : faults,
  }
}

export const floor = 100
export const leaseMs = 5_000
const timeoutMs = 2_500
/** If a worker is free and there are credits and tasks, an answer must be settled within this time. */
export const longestStandMs = leaseMs + 5_000
/** A request in transit when the tables were restored may reach the API this much later. */
export const straggleMs = 2 * leaseMs

/** Worker settings: a short lease, so that freezes outlast it. */
export const workerSettings = {
  MILL_CREDIT_FLOOR: String(floor),
  MILL_LEASE_MS: String(leaseMs),
  MILL_TIMEOUT_MS: String(timeoutMs),
  MILL_MAX_AGE: '0',
}

/** The faults, with the number of cards that each has in the pack. Each card is drawn once before any is repeated. */
const pack = {
  kills: 4,
  freezes: 3,
  farewells: 1,
  delays: 2,
  silences: 3,
  cuts: 2,
  strandings: 2,
  clockSteps: 2,
  renewals: 1,
  databaseRestarts: 2,
  restores: 1,
  fullDisks: 1,
  redisRestarts: 2,
  flushes: 1,
  foreignSpends: 2,
  keyChanges: 1,
}

export type Strike = keyof typeof pack

/** Faults that occur only for an account with a lying API and other users. */
export const onlyWithLies = ['foreignSpends', 'keyChanges'] as const

/** The most credits that others spend at once. */
export const foreignCredits = 12
/** Maximum cost of the calls that read a new key's balance, which are sent alongside calls with the old key. */
export const keyCheckCredits = 2 * dearest
/** External spend is known within this time, once an answer that was requested later is stored. */
export const unknownForMs = 6 * leaseMs

/** Number of times that each fault was injected. */
export type Strikes = Record<Strike, number>

export function noStrikes(): Strikes {
  return Object.fromEntries(Object.keys(pack).map((name) => [name, 0])) as Strikes
}

/** Draws faults from randomly shuffled packs, without those that can't be caused here. */
export function openPack(luck: () => number, impossible: ReadonlySet<Strike>): () => Strike {
  const names = (Object.keys(pack) as Strike[]).filter((name) => !impossible.has(name))
  const full = names.flatMap((name) => Array.from({ length: pack[name] }, () => name))
  let left: Strike[] = []
  return () => {
    if (left.length === 0) left = [...full]
    const [card] = left.splice(Math.floor(luck() * left.length), 1)
    return card ?? 'kills'
  }
}

/** Numbers between 0 and 1 determined by a seed. */
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
