// Sections of a query's page about changes: who took a rank, which pages and titles came and went, which SERP features.

import { count } from '../../base/cli/text.ts'
import { groupBy } from '../../base/query.ts'
import type { ShownResult } from '../../features/analysis/query-facts.ts'
import { type Html, html } from '../drawing/html.ts'
import { amount } from '../drawing/parts.ts'
import { type Column, column, tableSection } from '../drawing/tables.ts'
import type { PagePlace } from '../page.ts'
import type { QueryFound } from './query-read.ts'
import { toDomain, toNight, toPage } from './ways.ts'

/** Answers of one day. */
interface Day {
  readonly runDate: string
  readonly depth: number
  readonly features: readonly string[]
  readonly results: readonly ShownResult[]
}

/** First results of days, newest first. */
function daysOf(first: readonly ShownResult[]): readonly Day[] {
  return [...groupBy(first, ({ runDate }) => runDate)].map(([runDate, results]) => ({
    runDate,
    depth: results[0]?.depth ?? 0,
    features: results[0]?.features ?? [],
    results,
  }))
}

/** A rank that one of our domains lost between two answers. */
interface LostRank {
  readonly runDate: string
  readonly previousDate: string
  readonly domain: string
  readonly previous: number
  /** Null if the page is not in the answer, although the answer is deep enough to show the previous position. */
  readonly rank: number | null
  /** Domain that now has the previous position. */
  readonly taker: string | null
}

/** Ranks that these domains lost from one answer to the next, newest first. */
export function lostRanks(
  first: readonly ShownResult[],
  domains: readonly string[],
): readonly LostRank[] {
  const days = daysOf(first)
  const rankIn = ({ results }: Day, domain: string) =>
    results.find((result) => result.domain === domain)?.position ?? null
  return days.flatMap((now, index) => {
    const before = days[index + 1]
    if (before === undefined) return []
    return domains.flatMap((domain) => {
      const [previous, rank] = [rankIn(before, domain), rankIn(now, domain)]
      if (previous === null || (rank !== null && rank <= previous)) return []
      if (rank === null && now.depth < previous) return []
      const taker = now.results.find(({ position }) => position === previous)?.domain ?? null
      const { runDate: previousDate } = before
      return [{ runDate: now.runDate, previousDate, domain, previous, rank, taker }]
    })
  })
}

/** Days of entries, which are sorted from new to old. */
function seen(own: readonly { readonly runDate: string }[]) {
  const days = [...new Set(own.map(({ runDate }) => runDate))]
  return { days: days.length, first: days.at(-1) ?? '', last: days[0] ?? '' }
}

const seenColumns = [
  column.word('First seen', 'first'),
  column.word('Last seen', 'last'),
  column.number('Days', 'days'),
] as const

const mostRows = 20

/** Renders the changes between consecutive answers; sections without a row are left out. */
export function drawChanges({ query, first, shown }: QueryFound, place: PagePlace): Html {
  const ours = shown.filter((one) => one.ours).map(({ domain }) => domain)
  const days = daysOf(first)
  const pages = pagesOf(first, ours)
  const features = days.flatMap(({ runDate, features: own }) =>
    own.map((name) => ({ name, runDate })),
  )
  const about = `In the first results of the newest ${count(days.length, 'answer')}.`
  const draw = <Row>(
    heading: { readonly id: string; readonly title: string },
    rows: readonly Row[],
    columns: readonly Column<Row>[],
  ) =>
    rows.length === 0 ? null : tableSection({ ...heading, about }, rows.slice(0, mostRows), columns)
  return html`${draw({ id: 'lost', title: 'Who took the rank' }, lostRanks(first, ours), [
    column.word('Night', ({ runDate: day, previousDate: beside }) =>
      toNight(place, query.id, { day, beside }),
    ),
    column.plain('Taken by', ({ taker }) => toDomain(place, taker)),
    column.number('Before', 'previous'),
    column.right('Now', ({ rank }) => (rank === null ? 'not in' : amount(rank))),
    column.plain('Lost by', ({ domain }) => toDomain(place, domain)),
  ])}
  ${draw({ id: 'seen', title: 'Pages, first and last seen' }, pages, [
    column.plain('Page', ({ page, pageKey }) => toPage(place, page, pageKey)),
    column.number('Best', 'best'),
    ...seenColumns,
  ])}
  ${draw(
    { id: 'retitled', title: 'Changed titles' },
    pages.flatMap(({ titles }) => (titles.length > 1 ? titles : [])),
    [
      column.text('Title', 'title'),
      column.plain('Page', ({ page, pageKey }) => toPage(place, page, pageKey)),
      ...seenColumns,
    ],
  )}
  ${draw(
    { id: 'features', title: 'SERP features over time' },
    [...groupBy(features, ({ name }) => name)].map(([name, own]) => ({ name, ...seen(own) })),
    [column.plain('Feature', ({ name }) => name.replaceAll('_', ' ')), ...seenColumns],
  )}`
}

/** Pages among the results, ours first, then those seen last. */
function pagesOf(first: readonly ShownResult[], ours: readonly string[]) {
  const isOurs = ({ domain }: { domain: string | null }) => Number(ours.includes(domain ?? ''))
  return [...groupBy(first, ({ pageKey }) => pageKey)]
    .flatMap(([pageKey, own]) => {
      const [newest] = own
      if (pageKey === null || newest === undefined) return []
      const { page, domain } = newest
      const titles = [...groupBy(own, ({ title }) => title)].map(([title, named]) => {
        return { page, pageKey, title, ...seen(named) }
      })
      const best = Math.min(...own.flatMap(({ position }) => position ?? []))
      return [{ page, pageKey, domain, best, titles, ...seen(own) }]
    })
    .toSorted((a, b) => isOurs(b) - isOurs(a))
}
