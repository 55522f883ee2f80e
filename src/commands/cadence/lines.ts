import { formatTable } from '../../shared/terminal/table.ts'
import { count } from '../../shared/terminal/wording.ts'
import type { RestingList } from '../../store/nights/receipts.ts'
import type { Bounds } from '../mill/cadence/bounds.ts'
import { dateOf } from '../mill/cadence/days.ts'
import type { Receipt } from '../mill/cadence/tally.ts'
import type { Backtest } from './backtest.ts'
import { hiddenIn, wrongIn } from './resting.ts'

/** How lists rest, for a person. */
export function restingLines(lists: readonly RestingList[]): readonly string[] {
  if (lists.length === 0) {
    return [
      'no list rests: every query is asked every night',
      'what resting would save and miss: npm run cadence -- --backtest',
      'to let a list rest, write adaptive into the column cadence of its schedule',
    ]
  }
  return lists.flatMap((list) => {
    const { share, queries } = hiddenIn(list)
    const could = list.rested + list.by_chance
    return [
      `${list.list}, as decided for ${list.run_date}: ${intervalWords(list.intervals)}`,
      `  the last ${count(list.nights, 'night')}: ${list.asked} of ${list.queries} askings, ${percent(list.rested / Math.max(1, list.queries))} rested; ${list.credits} credits spent, about ${Math.round(list.credits_saved)} saved`,
      `  ${list.compared} that could rest were asked by chance, ${list.moved} of them hid a move: of all ${could} that could, ${range(share)} did (${Math.round(queries.low)} to ${Math.round(queries.high)})`,
      ...lentLines(list),
    ]
  })
}

function lentLines(list: RestingList): readonly string[] {
  const { lent, lent_by_chance: chance, lent_compared: compared, lent_differed: differed } = list
  if (lent + chance === 0) return []
  const { share, queries } = wrongIn(list)
  return [
    `  ${count(lent, 'answer')} lent by twins; of ${compared} that could be lent one and were asked by chance ${differed} differed, by ${count(list.lent_pages, 'page')}: of all ${lent + chance}, ${range(share)} do (${Math.round(queries.low)} to ${Math.round(queries.high)})`,
  ]
}

function intervalWords(intervals: readonly number[]): string {
  const parts = intervals.flatMap((queries, index) => {
    if (queries === 0) return []
    return [`${queries} every ${index === 0 ? 'day' : `${index + 1} days`}`]
  })
  return parts.join(', ')
}

/** Backtests for a person. */
export function backtestLines(tests: readonly Backtest[]): readonly string[] {
  if (tests.length === 0) return ['no list was answered yet: there is nothing to replay']
  return tests.flatMap((test) => [...wholeLines(test), ''])
}

function wholeLines({ list, longest, share, nights, whole, tags }: Backtest): readonly string[] {
  const first = nights[0]
  const last = nights.at(-1)
  if (first === undefined || last === undefined) return [`${list.name}: no readable answer`]
  const title = `${list.name}, ${count(nights.length, 'night')} from ${dateOf(first.day)} to ${dateOf(last.day)}, longest interval ${longest} days, at most ${percent(share)} of daily asking`
  if (nights.length === 1) {
    return [
      title,
      'a history of one night: nothing moved in it, and every query is asked until it is known',
    ]
  }
  const price = list.price ?? 0
  const credits = (calls: number) => Math.round(calls * price)
  return [
    title,
    ...(list.rests_since === null
      ? []
      : [
          `  it rests since ${list.rests_since}: what its nights did not ask then is in none of these figures`,
        ]),
    `  credits      ${credits(whole.daily_calls)} by daily asking, ${credits(whole.calls)} by cadence: ${range(whole.saved)} saved`,
    `  moves        ${whole.moves} into or out of the first ten, as daily asking saw them`,
    `  in time      ${whole.in_time} within two nights, ${whole.at_once} of them at once: ${range(whole.seen_in_time)}`,
    `  late         ${whole.late}, the latest by ${count(whole.latest ?? 0, 'night')}`,
    `  never        ${whole.never}, as they were undone before the next asking: ${range(whole.never_seen)}`,
    ...lentInBacktest(whole),
    ...tagTable(tags),
    '  in brackets: 95 of 100 such histories lie between (Wilson, each query with its moves as one)',
  ]
}

function lentInBacktest({ lent }: Receipt): readonly string[] {
  const { queries, answers, differed, pages, wrong, oldest } = lent
  if (answers === 0) return []
  return [
    `  lent         ${count(answers, 'answer')} to ${count(queries, 'twin')}, the oldest of ${count(oldest ?? 0, 'night')} before: ${differed} differed, by ${count(pages, 'page')}: ${range(wrong)}`,
  ]
}

function tagTable(tags: Backtest['tags']): readonly string[] {
  if (tags.length === 0) return []
  const heads = ['tag', 'queries', 'saved', 'moves', 'in time', 'late', 'never']
  const rows = tags.map(({ tag, receipt }) => [tag, ...cellsOf(receipt)])
  return ['', formatTable(heads, rows, { right: heads.slice(1) }), '']
}

function cellsOf(receipt: Receipt): readonly (string | number)[] {
  const { queries, saved, moves, seen_in_time: inTime, late, never } = receipt
  return [queries, range(saved), moves, range(inTime), late, never]
}

function range({ share, low, high }: Bounds): string {
  return share === null ? 'unknown' : `${percent(share)} (${percent(low)} to ${percent(high)})`
}

function percent(share: number): string {
  return `${(100 * share).toFixed(share > 0.995 && share < 1 ? 1 : 0)} %`
}
