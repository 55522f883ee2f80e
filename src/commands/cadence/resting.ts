import { unseenOf } from '../mill/cadence/draws.ts'
import type { RestingList } from '../../store/nights/receipts.ts'

/** What the draws of the last nights say of all queries that could rest, with their bounds. */
export function hiddenIn({ rested, by_chance: chance, compared, moved }: RestingList) {
  return unseenOf({ resting: rested + chance, drawn: compared, moved })
}

/** A list that rests, for programs. */
export function restingJson(list: RestingList) {
  const { share, queries } = hiddenIn(list)
  return { ...list, hidden_share: share, hidden_query_nights: queries }
}
