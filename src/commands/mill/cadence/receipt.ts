import type { QueryHistory, ReplayedNight } from './replay.ts'
import { movesBetween, type FirstTen } from './sight.ts'

/** A page that entered or left the first ten of a query, as daily asking sees it. */
export interface Move {
  readonly id: string
  readonly day: number
  readonly page: number
  readonly entered: boolean
  /** Nights of the list after that until it is seen; null: it never is. */
  readonly late: number | null
}

/** Every move of the histories, with when a list sees it that is asked as in the nights given. */
export function movesSeen(
  histories: readonly QueryHistory[],
  nights: readonly ReplayedNight[],
): readonly Move[] {
  const asked = new Map<string, Set<number>>(histories.map(({ id }) => [id, new Set()]))
  for (const night of nights) for (const id of night.asked) asked.get(id)?.add(night.day)
  const place = new Map(nights.map(({ day }, index) => [day, index]))
  return histories.flatMap(({ id, sights }) => {
    const bought = sights.filter(({ day }) => asked.get(id)?.has(day) === true)
    return judge(changesOf(sights), changesOf(bought), place).map((move) => ({ id, ...move }))
  })
}

interface Change {
  readonly since: number
  readonly day: number
  readonly page: number
  readonly entered: boolean
}

function changesOf(sights: readonly FirstTen[]): readonly Change[] {
  return sights.slice(1).flatMap((after, index) => {
    const before = sights[index]
    const moves = before === undefined ? null : movesBetween(before, after)
    if (before === undefined || moves === null) return []
    const span = { since: before.day, day: after.day }
    return [
      ...moves.entered.map((page) => ({ ...span, page, entered: true })),
      ...moves.left.map((page) => ({ ...span, page, entered: false })),
    ]
  })
}

/** What is seen once counts once: for the newest of the moves that it may be. */
function judge(
  truth: readonly Change[],
  seen: readonly Change[],
  place: ReadonlyMap<number, number>,
): readonly Omit<Move, 'id'>[] {
  const left = [...seen]
  const judged = truth.toReversed().map(({ day, page, entered }): Omit<Move, 'id'> => {
    const found = left.findIndex(
      (one) => one.page === page && one.entered === entered && one.since < day && one.day >= day,
    )
    const [sight] = found === -1 ? [] : left.splice(found, 1)
    const late = sight === undefined ? null : (place.get(sight.day) ?? 0) - (place.get(day) ?? 0)
    return { day, page, entered, late }
  })
  return judged.toReversed()
}
