// Sections of a query's page about changes: who took a rank, which pages and titles came and went, which SERP features.

import { count } from '../../base/cli/text.ts'
import { groupBy } from '../../base/query.ts'
import type { ShownResult } from '../../features/analysis/query-facts.ts'
import { type Html, html } from '../drawing/html.ts'
import { amount, type Column, given, tableSection, to } from '../drawing/parts.ts'
import type { PagePlace } from '../page.ts'
import type { QueryFound } from './query-read.ts'
import { nightPath, toDomain, toPage } from './ways.ts'

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
export interface LostRank {
  readonly runDate: string
  readonly previousDate: string
  readonly domain: string
  readonly previous: number
  /** Null: not in the answer, although it is deep enough to show the previous position. */
  readonly rank: number | null
  /** Domain at the previous position now. */
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

/** Something that answers show on some days, such as a page, a title or a feature. */
interface Seen {
  readonly days: number
  readonly first: string
  readonly last: string
}

/** The days of entries that are sorted from new to old. */
function seen(own: readonly { readonly runDate: string }[]): Seen {
  const days = [...new Set(own.map(({ runDate }) => runDate))]
  return { days: days.length, first: days.at(-1) ?? '', last: days[0] ?? '' }
}

const seenColumns = [
  { head: 'First seen', word: true, cell: ({ first }: Seen) => first },
  { head: 'Last seen', word: true, cell: ({ last }: Seen) => last },
  { head: 'Days', number: true, cell: ({ days }: Seen) => amount(days) },
] as const

const mostRows = 20

function lostColumns(query: string, place: PagePlace): readonly Column<LostRank>[] {
  return [
    {
      head: 'Night',
      word: true,
      cell: ({ runDate, previousDate }) =>
        to(place.href(nightPath(query, runDate), { beside: previousDate }), runDate),
    },
    { head: 'Taken by', cell: ({ taker }) => toDomain(place, taker) },
    { head: 'Before', number: true, cell: ({ previous }) => amount(previous) },
    { head: 'Now', number: true, cell: ({ rank }) => (rank === null ? 'not in' : amount(rank)) },
    { head: 'Lost by', cell: ({ domain }) => toDomain(place, domain) },
  ]
}

/** Draws what changed from answer to answer; sections without a row are left out. */
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
    columns: readonly Column<Row>[],
    rows: readonly Row[],
  ) =>
    rows.length === 0
      ? null
      : tableSection({ ...heading, about, empty: '' }, columns, rows.slice(0, mostRows))
  return html`${draw(
    { id: 'lost', title: 'Who took the rank' },
    lostColumns(query.id, place),
    lostRanks(first, ours),
  )}
  ${draw(
    { id: 'seen', title: 'Pages, first and last seen' },
    [
      { head: 'Page', cell: ({ page, pageKey }) => toPage(place, page, pageKey) },
      { head: 'Best', number: true, cell: ({ best }) => amount(best) },
      ...seenColumns,
    ],
    pages,
  )}
  ${draw(
    { id: 'retitled', title: 'Changed titles' },
    [
      { head: 'Title', cell: ({ title }) => given(title) },
      { head: 'Page', cell: ({ page, pageKey }) => toPage(place, page, pageKey) },
      ...seenColumns,
    ],
    pages.flatMap(({ titles }) => (titles.length > 1 ? titles : [])),
  )}
  ${draw(
    { id: 'features', title: 'SERP features over time' },
    [{ head: 'Feature', cell: ({ name }) => name.replaceAll('_', ' ') }, ...seenColumns],
    [...groupBy(features, ({ name }) => name)].map(([name, own]) => ({ name, ...seen(own) })),
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
      const titles = [...groupBy(own, ({ title }) => title)].map(([title, named]) => ({
        ...{ page, pageKey, title },
        ...seen(named),
      }))
      const best = Math.min(...own.flatMap(({ position }) => position ?? []))
      return [{ page, pageKey, domain, best, titles, ...seen(own) }]
    })
    .toSorted((a, b) => isOurs(b) - isOurs(a))
}
