import { dateOf, unpackSights } from '../mill/cadence/days.ts'
import { movesSeen } from '../mill/cadence/receipt.ts'
import { replayNights, type QueryHistory, type ReplayedNight } from '../mill/cadence/replay.ts'
import { sumUp, type Receipt } from '../mill/cadence/tally.ts'
import type { Mill } from '../mill/mill.ts'
import { readSights, type HistoryList } from '../../store/nights/first-tens.ts'

/** What resting would have come to for a list. */
export interface Backtest {
  readonly list: HistoryList
  readonly longest: number
  readonly share: number
  readonly lends: boolean
  readonly nights: readonly ReplayedNight[]
  readonly whole: Receipt
  readonly tags: readonly { readonly tag: string; readonly receipt: Receipt }[]
}

/** Replays the nights of a list that are there, as if it had rested from the first one on. */
export async function backtestList(
  { db, supplier: { origin, api } }: Pick<Mill, 'db' | 'supplier'>,
  list: HistoryList,
  { longest, share, lends }: Pick<Backtest, 'longest' | 'share' | 'lends'>,
): Promise<Backtest> {
  const all = { since: '0001-01-01', until: '9999-12-31', own: true }
  const seen = await readSights(db, { list: list.id, origin, api, ...all })
  const histories = seen.map(({ id, sights }): QueryHistory => ({
    id,
    sights: unpackSights(sights),
  }))
  const nights = replayNights(histories, { list: String(list.id), longest, share, lends })
  const moves = movesSeen(histories, nights)
  const tags = new Map<string, Set<string>>()
  for (const query of seen) {
    for (const tag of query.tags) tags.set(tag, (tags.get(tag) ?? new Set()).add(query.id))
  }
  return {
    list,
    longest,
    share,
    lends,
    nights,
    whole: sumUp(histories, nights, moves),
    tags: [...tags]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([tag, ids]) => {
        const tagged = histories.filter(({ id }) => ids.has(id))
        return { tag, receipt: sumUp(tagged, nights, moves) }
      }),
  }
}

/** A backtest for programs. */
export function backtestJson({ list, longest, share, lends, nights, whole, tags }: Backtest) {
  return {
    list: list.name,
    longest_days: longest,
    share,
    lends,
    price: list.price,
    confidence:
      '95 %, Wilson with correction for continuity, a query with its moves as one cluster',
    whole,
    tags: tags.map(({ tag, receipt }) => ({ tag, ...receipt })),
    nights: nights.map(({ day, queries, asked, byChance, lent }) => ({
      run_date: dateOf(day),
      queries,
      asked: asked.length,
      by_chance: byChance.length,
      lent: lent.filter(({ drawn }) => !drawn).length,
    })),
  }
}
