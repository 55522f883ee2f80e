import type { NewestAnswer, PageDay } from '../../../../store/analysis/page-days.ts'
import { groupBy } from '../../../../shared/group.ts'

/** How a page went for one query. */
export interface PageQuery {
  readonly queryId: string
  readonly q: string
  readonly variant: string
  readonly days: number
  readonly best: number
  readonly first: PageDay
  readonly last: PageDay
  /** The newest answer of the query; the page is gone when it is another one than the last that showed it. */
  readonly newest: NewestAnswer | null
}

/** True: the newest answer to the query is without the page, and deep enough to have shown its last place. */
export function isGone({ last, newest }: PageQuery): boolean {
  return newest !== null && newest.runDate > last.runDate && newest.depth >= last.position
}

/** The queries of a page: the last places first, and after them those that lost it. */
export function queriesOf(
  days: readonly PageDay[],
  newest: readonly NewestAnswer[],
): readonly PageQuery[] {
  const answers = new Map(newest.map((answer) => [answer.queryId, answer]))
  const found = [...groupBy(days, ({ queryId }) => queryId)].flatMap(([queryId, own]) => {
    const [last, first] = [own[0], own.at(-1)]
    if (last === undefined || first === undefined) return []
    const best = Math.min(...own.map(({ position }) => position))
    const { q, variant } = last
    return [
      {
        queryId,
        q,
        variant,
        days: own.length,
        best,
        first,
        last,
        newest: answers.get(queryId) ?? null,
      },
    ]
  })
  return found.toSorted(
    (a, b) => Number(isGone(a)) - Number(isGone(b)) || a.last.position - b.last.position,
  )
}

/** A title that a page had, and from when to when. */
export interface PageTitle {
  readonly title: string | null
  readonly first: string
  readonly last: string
}

/** Titles of a page, the newest first. */
export function titlesOf(days: readonly PageDay[]): readonly PageTitle[] {
  return [...groupBy(days, ({ title }) => title)].map(([title, own]) => ({
    title,
    first: own.at(-1)?.runDate ?? '',
    last: own[0]?.runDate ?? '',
  }))
}
