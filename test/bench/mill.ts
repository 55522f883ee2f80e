import {
  measureCalls,
  measureLedger,
  measureLog,
  measureQueue,
  measureSlices,
  measureStoring,
  type Component,
} from './components.ts'
import { openGround, startStandIn, type Ground, type StandIn } from './ground.ts'
import { median } from './meter.ts'
import { measureMemory } from './memory.ts'
import { measurePlain } from './plain.ts'
import { measureWhole, type WholeFigures } from './whole.ts'

export interface Ratios {
  /** CPU of all parts, divided by that of the whole. */
  readonly cpu: number
  readonly vs_transaction_per_answer: number | null
  readonly vs_row_per_statement: number | null
  readonly efficiency_50: number | null
  readonly efficiency_200: number | null
  readonly efficiency_500: number | null
  readonly postgres_queue_to_redis_queue: number | null
}

export interface MillFigures {
  readonly ratios: Ratios
  /** Cores that other processes used, on average. */
  readonly foreign: number
  readonly components: Readonly<Record<string, Component>>
  readonly whole: Readonly<Record<string, WholeFigures>>
  readonly plain: Readonly<Record<string, { perSecond: number; cpu: number }>>
  /** Queries per second that two cores could process at the sum of the parts. */
  readonly composite_limit: number
  /** Peak memory of a worker with 500 lanes, in megabytes; null after a short run. */
  readonly rss: number | null
}

export interface MillBench {
  readonly runs: number
  /** If true, uses small numbers and no slow API, and measures only CPU. */
  readonly short: boolean
  readonly say: (line: string) => void
}

/**
 * Measures every part and the whole several times in turn, and returns medians. Wall time is meaningful only on an idle
 * machine.
 */
export async function benchMill({ runs, short, say }: MillBench): Promise<MillFigures> {
  const ground = await openGround()
  try {
    const rounds: Round[] = []
    for (let run = 1; run <= runs; run += 1) {
      say(`run ${run} of ${runs}`)
      rounds.push(await measureRound(ground, { short, say }))
    }
    return summarise(rounds, short)
  } finally {
    await ground.close()
  }
}

interface Round {
  readonly components: Record<string, Component>
  readonly whole: Record<string, WholeFigures>
  readonly plain: Record<string, { perSecond: number; cpu: number; foreign: number }>
  rss: number | null
}

async function measureRound(
  ground: Ground,
  { short, say }: { short: boolean; say: (line: string) => void },
): Promise<Round> {
  const round: Round = { components: {}, whole: {}, plain: {}, rss: null }
  const part = short ? 2_000 : 10_000
  const api = await startStandIn(0)
  try {
    await measureParts(round, { ground, api, part, say })
  } finally {
    await api.close()
  }
  say('the whole, without waiting')
  // Many lanes make large groups; the plain workers also have their best concurrency.
  const fast = { lanes: 256, latencyMs: 0, queries: part }
  round.whole['postgres'] = await measureWhole(ground, { ...fast, redis: false })
  if (ground.redis !== null)
    round.whole['redis'] = await measureWhole(ground, { ...fast, redis: true })
  if (short) return round
  for (const lanes of [50, 200, 500]) {
    say(`the whole, ${lanes} lanes, an API that takes 200 ms`)
    const slow = { lanes, latencyMs: 200, queries: lanes * 80, redis: false, warmUp: lanes * 4 }
    round.whole[`lanes_${lanes}`] = await measureWhole(ground, slow)
  }
  say('the memory of a worker with 500 lanes')
  const memory = await measureMemory(ground, { lanes: 500, latencyMs: 200, queries: 20_000 })
  round.rss = memory.largest
  await measureOthers(round, ground, say)
  return round
}

async function measureParts(
  round: Round,
  {
    ground,
    api,
    part,
    say,
  }: { ground: Ground; api: StandIn; part: number; say: (line: string) => void },
): Promise<void> {
  const onPostgres = { ground, api, redis: false }
  say('the queue on PostgreSQL')
  round.components['queue_postgres'] = await measureQueue(onPostgres, part)
  if (ground.redis !== null) {
    say('the queue on Redis')
    round.components['queue_redis'] = await measureQueue({ ...onPostgres, redis: true }, part)
  }
  say('slices, calls, write-ahead log, storing, ledger')
  round.components['slices'] = await measureSlices(onPostgres, part)
  round.components['calls'] = await measureCalls(onPostgres, part)
  round.components['log'] = await measureLog(part)
  round.components['storing'] = await measureStoring(onPostgres, part)
  round.components['ledger'] = await measureLedger(onPostgres, part)
}

async function measureOthers(
  round: Round,
  ground: Ground,
  say: (line: string) => void,
): Promise<void> {
  say('one transaction for each answer')
  const multi = await measurePlain(ground, { queries: 1_500, rows: 'multi', concurrency: 8 })
  if (multi !== null) round.plain['transaction_per_answer'] = multi
  say('one statement for each row')
  const single = await measurePlain(ground, { queries: 500, rows: 'single', concurrency: 1 })
  if (single !== null) round.plain['row_per_statement'] = single
}

function summarise(rounds: readonly Round[], short: boolean): MillFigures {
  const components = mergeAll(rounds.map((round) => round.components))
  const whole = mergeAll(rounds.map((round) => round.whole))
  const plain = mergeAll(rounds.map((round) => round.plain))
  const sum = ['queue_postgres', 'slices', 'calls', 'log', 'storing', 'ledger']
    .map((name) => components[name]?.sum ?? Number.NaN)
    .reduce((total, one) => total + one, 0)
  const fast = whole['postgres']
  const foreign = Object.values(whole).map((one) => one.foreign)
  return {
    ratios: {
      cpu: sum / (fast?.cpu ?? Number.NaN),
      // With the queue on Redis, like the plain worker.
      vs_transaction_per_answer: faster(whole['redis'], plain['transaction_per_answer']),
      vs_row_per_statement: faster(whole['redis'], plain['row_per_statement']),
      efficiency_50: efficiency(whole['lanes_50'], 50),
      efficiency_200: efficiency(whole['lanes_200'], 200),
      efficiency_500: efficiency(whole['lanes_500'], 500),
      postgres_queue_to_redis_queue: faster(fast, whole['redis']),
    },
    foreign: median(foreign),
    components,
    whole,
    plain,
    composite_limit: 2e6 / sum,
    rss: short ? null : median(rounds.map((round) => round.rss ?? Number.NaN)),
  }
}

function faster(mine: { perSecond: number } | undefined, other: { perSecond: number } | undefined) {
  return mine === undefined || other === undefined ? null : mine.perSecond / other.perSecond
}

/** Answers per second, divided by the rate if no lane were ever empty. */
function efficiency(figures: WholeFigures | undefined, lanes: number): number | null {
  return figures === undefined ? null : figures.perSecond / (lanes / 0.2)
}

/** The median of each number over all rounds. */
function mergeAll<T extends object>(rounds: readonly Record<string, T>[]): Record<string, T> {
  const merged: Record<string, T> = {}
  for (const name of Object.keys(rounds[0] ?? {})) {
    const found = rounds.flatMap((round) => round[name] ?? [])
    const [first] = found
    if (first === undefined) continue
    const middle = Object.keys(first).map((key) => [
      key,
      median(found.map((one) => Number(Reflect.get(one, key)))),
    ])
    merged[name] = { ...first, ...Object.fromEntries(middle) }
  }
  return merged
}
