import { unseenOf } from '../mill/cadence/draws.ts'
import type { RestingList } from '../../store/nights/receipts.ts'

/** What the draws of the last nights say of all queries that could rest, with their bounds. */
export function hiddenIn({ rested, by_chance: chance, compared, moved }: RestingList) {
  return unseenOf({ resting: rested + chance, drawn: compared, moved })
}

/** What the draws say of all answers that were lent: how many were wrong. */
export function wrongIn(list: RestingList) {
  return unseenOf({
    resting: list.lent + list.lent_by_chance,
    drawn: list.lent_compared,
    moved: list.lent_differed,
  })
}

/** A list that rests, for programs. */
export function restingJson(list: RestingList) {
  const { share, queries } = hiddenIn(list)
  const wrong = wrongIn(list)
  return {
    ...list,
    hidden_share: share,
    hidden_query_nights: queries,
    wrong_share: wrong.share,
    wrong_answers: wrong.queries,
  }
}
