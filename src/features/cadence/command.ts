// The cadence command: shows the intervals and savings of adaptive lists, and estimates the savings for other lists.

import { npmRun } from '../../base/cli/commands.ts'
import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { count, formatNumber, formatTable } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { type Mill, openMill } from '../../core/mill.ts'
import { type HistoryList, readHistoryLists, readFirstTens } from './first-tens.ts'
import { type Bounds, movesSeen, replayNights, sumUp, unseenOf } from './replay.ts'
import { dateOf, unpackFirstTens } from './night.ts'

interface CadenceOptions {
  readonly backtest?: true
  readonly list?: string
  readonly longest: string
  readonly share: string
}

export async function runCadence({ options, env, closers }: Call<CadenceOptions>): Promise<Exit> {
  const longest = longestOf(options.longest)
  const share = shareOf(options.share)
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'cadence', reading: true })
  const only = options.list ?? null
  const lists = await readHistoryLists(mill.db, mill.supplier)
  const wanted = lists.filter(({ name }) => only === null || name === only)
  if (only !== null && wanted.length === 0) {
    const names = lists.map(({ name }) => name).join(', ') || 'none'
    throw new Misuse(
      `expected --list to name a list with answers, got ${only}; lists with answers: ${names}`,
    )
  }
  if (options.backtest !== true) {
    const all = await readCadenceReceipts(mill.db)
    const receipts = all.filter(({ list }) => only === null || list === only)
    if (options.json === true) printJson({ lists: receipts.map(receiptJson) })
    else print(receiptLines(receipts).join('\n'))
    return exits.done
  }
  const tests = []
  for (const list of wanted) tests.push(await backtestList(mill, list, { longest, share }))
  if (options.json === true) printJson({ lists: tests.map(backtestJson) })
  else if (tests.length === 0) print('no list has answers yet, so there is nothing to replay')
  else print(tests.flatMap((test) => [...backtestLines(test), '']).join('\n'))
  return exits.done
}

function longestOf(text: string): number {
  const days = /^\d{1,3}d$/.test(text) ? Number.parseInt(text, 10) : 0
  if (days >= 1 && days <= 365) return days
  throw new Misuse(`expected --longest to be a whole number of days from 1d to 365d, got ${text}`)
}

function shareOf(text: string): number {
  const percent = /^\d{1,3}%?$/.test(text) ? Number.parseInt(text, 10) : 0
  if (percent >= 1 && percent <= 100) return percent / 100
  throw new Misuse(`expected --share to be a percentage from 1% to 100%, got ${text}`)
}

type Backtest = Awaited<ReturnType<typeof backtestList>>

/** Replays a list's past nights as if the list had been adaptive from the first night. */
async function backtestList(
  { db, supplier: { origin, api } }: Pick<Mill, 'db' | 'supplier'>,
  list: HistoryList,
  { longest, share }: { readonly longest: number; readonly share: number },
) {
  const all = { since: '0001-01-01', until: '9999-12-31', own: true, store: false }
  const seen = await readFirstTens(db, { list: list.id, origin, api, ...all })
  const histories = seen.map(({ first_tens: packed, ...query }) => {
    return { ...query, firstTens: unpackFirstTens(packed) }
  })
  const nights = replayNights(histories, { list: String(list.id), longest, share })
  const moves = movesSeen(histories, nights)
  const tags = [...new Set(histories.flatMap((query) => query.tags))].toSorted()
  return {
    list,
    longest,
    share,
    nights,
    whole: sumUp(histories, nights, moves),
    tags: tags.map((tag) => {
      const tagged = histories.filter((query) => query.tags.includes(tag))
      return { tag, receipt: sumUp(tagged, nights, moves) }
    }),
  }
}

function receiptJson(list: CadenceReceipt) {
  const { share, queries } = hiddenIn(list)
  return { ...list, hidden_share: share, hidden_query_nights: queries }
}

function backtestJson({ list, longest, share, nights, whole, tags }: Backtest) {
  return {
    list: list.name,
    longest_days: longest,
    share,
    price: list.price,
    confidence:
      '95 %, Wilson with correction for continuity, a query with its moves as one cluster',
    whole,
    tags: tags.map(({ tag, receipt }) => ({ tag, ...receipt })),
    nights: nights.map(({ day, queries, asked, byChance }) => ({
      run_date: dateOf(day),
      queries,
      asked: asked.length,
      by_chance: byChance.length,
    })),
  }
}

export function receiptLines(lists: readonly CadenceReceipt[]): readonly string[] {
  if (lists.length === 0) {
    return [
      'no list has an adaptive cadence, so every query is asked every night',
      `to see what an adaptive cadence would save and miss: ${npmRun('cadence --')} --backtest`,
      "to use an adaptive cadence, set a schedule's cadence column to adaptive",
    ]
  }
  return lists.flatMap((list) => {
    const { share, queries } = hiddenIn(list)
    const could = list.rested + list.by_chance
    return [
      `${list.list}, as decided for ${list.run_date}: ${intervalWords(list.intervals)}`,
      `  the last ${count(list.nights, 'night')}: ${formatNumber(list.asked)} of ${count(list.queries, 'request')}, ${inPercent(list.rested / Math.max(1, list.queries))} skipped; ${count(list.credits, 'credit')} spent, about ${formatNumber(Math.round(list.credits_saved))} saved`,
      `  random sample: ${formatNumber(list.moved)} of ${formatNumber(list.compared)} queries that could be skipped hid a move; of all ${formatNumber(could)}, ${range(share)} did (${Math.round(queries.low)} to ${Math.round(queries.high)})`,
    ]
  })
}

function intervalWords(intervals: readonly number[]): string {
  return intervals
    .map((queries, index) => `${queries} every ${index === 0 ? 'day' : `${index + 1} days`}`)
    .filter((_, index) => intervals[index] !== 0)
    .join(', ')
}

function backtestLines({ list, longest, share, nights, whole, tags }: Backtest): readonly string[] {
  const [first, last] = [nights[0], nights.at(-1)]
  if (first === undefined || last === undefined) return [`${list.name}: no readable answer`]
  const title = `${list.name}, ${count(nights.length, 'night')} from ${dateOf(first.day)} to ${dateOf(last.day)}, longest interval ${longest} days, at most ${inPercent(share)} of a daily cadence`
  if (nights.length === 1) return [title, 'at least two nights are needed to show moves']
  const credits = (calls: number) => Math.round(calls * (list.price ?? 0))
  const adaptive = `  adaptive since ${list.rests_since}: queries skipped since then are not in these figures`
  return [
    title,
    ...(list.rests_since === null ? [] : [adaptive]),
    `  credits      ${credits(whole.daily_calls)} with a daily cadence, ${credits(whole.calls)} with an adaptive one: ${range(whole.saved)} saved`,
    `  moves        ${whole.moves} into or out of the top 10, as a daily cadence sees them`,
    `  in time      ${whole.in_time} within two nights, ${whole.at_once} of them at once: ${range(whole.seen_in_time)}`,
    `  late         ${whole.late}, the latest by ${count(whole.latest ?? 0, 'night')}`,
    `  never        ${whole.never}, because they were reversed before the query was asked again: ${range(whole.never_seen)}`,
    ...tagTable(tags),
    '  in parentheses: 95 % confidence limits (Wilson, all moves of a query as one cluster)',
  ]
}

function tagTable(tags: Backtest['tags']): readonly string[] {
  if (tags.length === 0) return []
  const heads = ['tag', 'queries', 'saved', 'moves', 'in time', 'late', 'never']
  const rows = tags.map(({ tag, receipt }) => {
    const { queries, saved, moves, seen_in_time: inTime, late, never } = receipt
    return [tag, queries, range(saved), moves, range(inTime), late, never]
  })
  return ['', formatTable(heads, rows, { right: heads.slice(1) }), '']
}

function range({ share, low, high }: Bounds): string {
  return share === null
    ? 'unknown'
    : `${inPercent(share)} (${inPercent(low)} to ${inPercent(high)})`
}

function inPercent(share: number): string {
  return `${(100 * share).toFixed(share > 0.995 && share < 1 ? 1 : 0)} %`
}

/** Uses recent nights' random samples to estimate how many skipped queries had a missed move. */
function hiddenIn({ rested, by_chance: chance, compared, moved }: CadenceReceipt) {
  return unseenOf({ resting: rested + chance, drawn: compared, moved })
}

/** An adaptive list, with its newest decision and the totals for recent nights. */
export interface CadenceReceipt {
  readonly list: string
  readonly run_date: string
  /** Numbers of queries with an interval of 1 day, 2 days, and so on. */
  readonly intervals: readonly number[]
  readonly nights: number
  /** Totals over these nights: listed, bought, skipped and sampled queries. */
  readonly queries: number
  readonly asked: number
  readonly rested: number
  readonly by_chance: number
  readonly credits: number
  readonly credits_saved: number
  /** Number of sampled queries that could be compared, and number of these queries with a move. */
  readonly compared: number
  readonly moved: number
}

export function readCadenceReceipts(db: Database) {
  return readRows<CadenceReceipt>(db, 'read_resting_lists', { nights: 28 })
}
