import { drawn } from './chance.ts'
import { decideNight, type KnownQuery, type CadenceRules } from './night.ts'
import { stepBetween, type FirstTen, type Comparison } from './sight.ts'
import { differencesBetween } from './twins.ts'

/** A query with what it was answered, night by night, the oldest first. */
export interface QueryHistory {
  readonly id: string
  readonly sights: readonly FirstTen[]
}

/** What a night of a replay came to. */
export interface ReplayedNight {
  readonly day: number
  /** Queries that daily asking asks. */
  readonly queries: number
  /** Queries that are asked all the same. */
  readonly asked: readonly string[]
  /** Of these, those that chance chose among the sleeping. */
  readonly byChance: readonly string[]
  /** Queries to which the answer of another was lent, or would have been, had chance not chosen them. */
  readonly lent: readonly LentAnswer[]
}

/** An answer that was lent, beside what daily asking was answered. */
export interface LentAnswer {
  readonly id: string
  readonly lender: string
  /** True: the query was asked by chance. */
  readonly drawn: boolean
  /** Nights since the lender was asked. */
  readonly age: number
  /** Pages of the first ten that one of the two has and the other has not; null: they cannot be compared. */
  readonly differences: number | null
}

/** How many days back a decision looks. */
export function memoryOf(longest: number): number {
  return Math.max(60, 2 * longest)
}

/** Goes through the nights of a list as if it had been asked by its cadence from the first one on. */
export function replayNights(
  histories: readonly QueryHistory[],
  rules: CadenceRules,
): readonly ReplayedNight[] {
  const memory = memoryOf(rules.longest)
  const logs = new Map(histories.map(({ id }) => [id, new Log(rules.list, id)]))
  const nights = nightsOf(histories)
  return nights.map(({ day, held }, nth) => {
    const known = membersAt(histories, { day, before: nights[nth - 1]?.day ?? day }).flatMap(
      ({ id }) => logs.get(id)?.since(day - memory) ?? [],
    )
    const decisions = new Map(decideNight(known, day, rules).map((one) => [one.id, one]))
    const asked: string[] = []
    const byChance: string[] = []
    for (const { history, sight } of held) {
      const decision = decisions.get(history.id)
      if (decision !== undefined && decision.due > day && !decision.byChance) continue
      asked.push(history.id)
      if (decision?.byChance === true) byChance.push(history.id)
      logs.get(history.id)?.add(sight)
    }
    const lent = held.flatMap(({ history: { id }, sight }): LentAnswer[] => {
      const decision = decisions.get(id)
      const lender = decision?.lentBy ?? null
      const answer = lender === null ? null : (logs.get(lender)?.newest ?? null)
      if (lender === null || answer === null) return []
      const drawnToo = decision?.byChance === true
      const differences = differencesBetween(answer, sight)
      return [{ id, lender, drawn: drawnToo, age: day - answer.day, differences }]
    })
    return { day, queries: held.length, asked, byChance, lent }
  })
}

/** The list as it was last read before a night: a query is in it from its first answer to its last one. */
function membersAt(
  histories: readonly QueryHistory[],
  { day, before }: { day: number; before: number },
): readonly QueryHistory[] {
  return histories.filter(({ sights }) => {
    const first = sights[0]
    const last = sights.at(-1)
    return first !== undefined && last !== undefined && first.day < day && last.day >= before
  })
}

/** The nights of all histories, each with the queries that were answered in it. */
function nightsOf(histories: readonly QueryHistory[]) {
  const nights = new Map<number, { history: QueryHistory; sight: FirstTen }[]>()
  for (const history of histories) {
    for (const sight of history.sights) {
      const night = nights.get(sight.day)
      if (night === undefined) nights.set(sight.day, [{ history, sight }])
      else night.push({ history, sight })
    }
  }
  return [...nights]
    .map(([day, held]) => ({ day, held }))
    .toSorted((one, other) => one.day - other.day)
}

/** What is known of a query by its answers, the oldest first. */
export function knownOf(list: string, id: string, sights: readonly FirstTen[]): KnownQuery {
  const log = new Log(list, id)
  for (const sight of sights) log.add(sight)
  return log.since(-Infinity)
}

/** The answers that were bought for a query so far. */
class Log {
  readonly #id: string
  readonly #spread: number
  readonly #sights: FirstTen[] = []
  /** Each answer beside the one before it; null: they cannot be compared. */
  readonly #steps: (Comparison | null)[] = []

  constructor(list: string, id: string) {
    this.#id = id
    this.#spread = drawn(list, id)
  }

  add(sight: FirstTen): void {
    const before = this.#sights.at(-1)
    this.#steps.push(before === undefined ? null : stepBetween(before, sight))
    this.#sights.push(sight)
  }

  get newest(): FirstTen | null {
    return this.#sights.at(-1) ?? null
  }

  /** What is known from a day on. */
  since(day: number): KnownQuery {
    const query = { id: this.#id, spread: this.#spread }
    const first = this.#sights.findIndex((sight) => sight.day >= day)
    if (first === -1) return { ...query, sights: [], steps: [], last: null, before: null }
    const steps = this.#steps.slice(first + 1).filter((step) => step !== null)
    const last = this.#sights.at(-1) ?? null
    const before = this.#sights.length - first > 1 ? (this.#sights.at(-2) ?? null) : null
    return { ...query, sights: this.#sights.slice(first), steps, last, before }
  }
}
