// The Cadence page: the credits that adaptive lists saved, and the changes that they may have missed.

import { npmRun } from '../../base/cli/commands.ts'
import type { Database } from '../../base/database/database.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { groupBy } from '../../base/query.ts'
import { type CadenceReceipt, readCadenceReceipts } from '../../features/cadence/command.ts'
import { type Html, html, numberText } from '../drawing/html.ts'
import { dayLine, drawDays, type Series } from '../drawing/lines.ts'
import { amount, given, nothing, percent, progress, section, tiles } from '../drawing/parts.ts'
import { type Column, column, table } from '../drawing/tables.ts'
import { definePage } from '../page.ts'
import { dayChooser } from './choose.ts'

const usualDays = 92

export const cadencePage = definePage({
  path: '/cadence',
  nav: 'Asking less',
  area: 'Operations',
  ask: (address, today) => address.span({ today, days: usualDays }),
  read: async (reading, span) => {
    const resting = await reading.books(async (db) => ({
      lists: await readCadenceReceipts(db),
      nights: await readRows<CadenceNightCost>(db, 'read_resting_nights', { ...span }),
    }))
    const readRounds = (db: Database) => readRows<FrontierRound>(db, 'read_answered_rounds', {})
    // The rounds are omitted if reading a long history takes too long.
    return { ...resting, rounds: await reading.briefly(readRounds) }
  },
  show: ({ lists, nights, rounds }, place, span) => ({
    title: 'Asking less',
    plain: true,
    lead: html`What lists with an adaptive cadence saved from ${span.since} to ${span.until}, and
    what they may have missed.`,
    body: html`${dayChooser(place, span)}
    ${lists.length === 0 ? noCadence : lists.map((list, nth) => drawReceipts(list, nights, nth))}
    ${drawFrontier(rounds)}`,
  }),
})

/** Cost of one night of a list that is adaptive now and may have been adaptive on that night. */
interface CadenceNightCost {
  readonly list: string
  readonly run_date: string
  readonly credits: number
  /** Null if all queries were bought on that night. In that case, all following fields except `moves` are null. */
  readonly credits_saved: number | null
  /** Observed number of pages that entered or left the top ten. */
  readonly moves: number | null
  /** Estimated number of skipped queries with a missed move; null if no sampled query was compared. */
  readonly hidden: number | null
  readonly hidden_low: number | null
  readonly hidden_high: number | null
}

/** An answered round of an expanded list. Counts only answers from the shown origins. */
interface FrontierRound {
  readonly list: string
  readonly round: number
  readonly answers: number
  readonly credits_used: number
  readonly new_pages: number
  readonly new_domains: number
  readonly pages: number
  readonly domains: number
}

const noCadence = nothing(
  'No list has an adaptive cadence, so every query is asked every night. A backtest shows what an adaptive cadence would save and miss.',
  `${npmRun('cadence --')} --backtest`,
)

function drawReceipts(
  list: CadenceReceipt,
  nights: readonly CadenceNightCost[],
  nth: number,
): Html {
  const days = nights.filter((night) => night.list === list.list).toReversed()
  const couldRest = list.rested + list.by_chance
  return section(
    {
      id: `list-${nth}`,
      title: html`${given(list.list)}`,
      about: `Figures for the last ${list.nights} nights. The random sample represents all queries that could be skipped; the bounds are 95 % confidence limits (Wilson, with continuity correction).`,
    },
    html`${tiles([
      ['credits spent', list.credits],
      ['credits saved', Math.round(list.credits_saved)],
      [
        'of all requests skipped',
        percent(couldRest === 0 ? null : list.rested / Math.max(1, list.queries)),
      ],
      ['sampled queries that moved', html`${amount(list.moved)} of ${amount(list.compared)}`],
    ])}
    ${days.length < 2 ? null : pictures(list.list, days)} ${intervalTable(list)}`,
  )
}

function pictures(name: string, nights: readonly CadenceNightCost[]): readonly (Html | null)[] {
  const days = nights.map((night) => ({ ...night, runDate: night.run_date }))
  return [
    picture(`Credits spent and saved for ${name}, by night`, [
      dayLine('spent', days, ({ credits }) => credits),
      dayLine('saved', days, ({ credits_saved: saved }) => saved),
    ]),
    picture(`Pages entering or leaving the top 10 for ${name}, by night`, [
      dayLine('moves seen', days, ({ moves }) => moves),
    ]),
    picture(`Skippable queries of ${name} that moved, estimated from the random sample`, [
      dayLine('most', days, ({ hidden_high: high }) => high),
      dayLine('estimate', days, ({ hidden }) => hidden),
      dayLine('least', days, ({ hidden_low: low }) => low),
    ]),
  ]
}

function picture(title: string, series: readonly Series[]): Html | null {
  if (series.every(({ points }) => points.every(({ value }) => value === null))) return null
  return html`<h3>${title}</h3>
    ${drawDays({ title, series, height: 180, format: numberText })}`
}

function intervalTable({ list, intervals, run_date: date }: CadenceReceipt): Html {
  const all = intervals.reduce((sum, queries) => sum + queries, 0)
  const rows = intervals
    .map((queries, index) => ({ days: index + 1, queries }))
    .filter(({ queries }) => queries > 0)
  return html`<h3>How often the queries of ${given(list)} are asked, as decided for ${date}</h3>
    ${table('Intervals', rows, [
      column.word('asked', ({ days }) => (days === 1 ? 'every day' : `every ${days} days`)),
      column.number('queries', 'queries'),
      column.plain('of all', ({ queries }) => progress(queries, all)),
    ])}`
}

/** Shows the new results in each round of related searches, to help decide when to stop expanding a list. */
function drawFrontier(rounds: readonly FrontierRound[] | null): Html | null {
  if (rounds === null || rounds.length === 0) return null
  return section(
    {
      id: 'frontier',
      title: 'New results from related searches',
      about: `Pages and domains that did not appear in earlier answers, for each round of ${npmRun('expand')}. Another round is worth the credits if the last round found at least as many new pages and domains as the round before.`,
    },
    [...groupBy(rounds, ({ list }) => list)].map(
      ([list, own]) =>
        html`<h3>${given(list)}</h3>
          ${table(`Rounds of ${list}`, own, roundColumns)}`,
    ),
  )
}

const ratio = (some: number, all: number) => (all === 0 ? null : some / all)

const roundColumns: readonly Column<FrontierRound>[] = [
  column.number('round', 'round'),
  column.number('answers', 'answers'),
  column.number('credits', 'credits_used'),
  column.share('new among pages', (one) => ratio(one.new_pages, one.pages)),
  column.share('new among domains', (one) => ratio(one.new_domains, one.domains)),
  column.number('new pages per answer', (one) => ratio(one.new_pages, one.answers)),
  column.number('new domains per answer', (one) => ratio(one.new_domains, one.answers)),
]
