import type { AskedAgain, ComingNight, QueryGroup } from './prospect.ts'
import { dayNumber } from '../shared/time/zone.ts'

/** Queries of one class that are bought together. */
export interface Portion {
  readonly class: string
  readonly queries: number
}

/** A group as it will stand. */
interface KnownGroup {
  readonly group: QueryGroup
  answeredAt: number | null
  /** Number of the day that it was bought for last. */
  answeredDay: number | null
  /** For lists with a cadence: number of the day on which each asks it next. */
  readonly dueDays: Map<number, number>
}

/** When the queries of the lists will have been asked last. */
export class Members {
  readonly #groups: readonly KnownGroup[]

  constructor(groups: readonly QueryGroup[]) {
    this.#groups = groups.map((group) => ({
      group,
      answeredAt: group.answeredAt,
      answeredDay: numberOf(group.answeredOn ?? null),
      dueDays: new Map(
        group.wishes?.map(({ list, dueOn }) => [list, numberOf(dueOn) ?? -Infinity]) ?? [],
      ),
    }))
  }

  /** The queries of a night's list that have to be bought; with money there, they have their answer then. */
  ask(night: ComingNight, bought: boolean) {
    const portions = new Map<string, number>()
    let fresh = 0
    for (const known of this.#groups) {
      const { group } = known
      if (!group.lists.includes(night.list)) continue
      const wish = group.wishes?.find(({ list }) => list === night.list)
      if (isRested(known, wish, night)) fresh += group.queries
      else {
        portions.set(group.class, (portions.get(group.class) ?? 0) + group.queries)
        if (bought) noteBought(known, wish, night)
      }
    }
    return {
      fresh,
      portions: [...portions].map(([name, queries]) => ({ class: name, queries })),
    }
  }
}

/** True for queries that the night need not buy: it lets them rest, or their answers will be young enough. */
function isRested(
  { answeredAt, answeredDay, dueDays }: KnownGroup,
  wish: AskedAgain | undefined,
  { list, at, day, adaptive, maxAgeMs }: ComingNight,
): boolean {
  if (answeredAt === null) return false
  if (answeredAt > at - (wish?.maxAgeMs ?? maxAgeMs)) return true
  const tonight = dayNumber(day)
  const every = wish?.everyDays ?? null
  // A person's wish wins over what was decided from the history.
  if (every !== null) return answeredDay !== null && answeredDay + every > tonight
  const due = adaptive && (wish?.maxAgeMs ?? null) === null ? dueDays.get(list) : undefined
  return due !== undefined && due > tonight
}

function noteBought(
  known: KnownGroup,
  wish: AskedAgain | undefined,
  { list, at, day }: ComingNight,
): void {
  known.answeredAt = at
  known.answeredDay = dayNumber(day)
  const interval = wish?.intervalDays ?? null
  if (interval !== null) known.dueDays.set(list, known.answeredDay + interval)
}

function numberOf(day: string | null): number | null {
  return day === null ? null : dayNumber(day)
}
