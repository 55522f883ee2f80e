import type { SerpResult } from '../../../../store/analysis/serp.ts'
import type { NightAnswer } from './read.ts'

/** A page of either answer, or of both. */
export interface SerpChange {
  readonly before: SerpResult | null
  readonly now: SerpResult | null
  readonly kind: 'came' | 'went' | 'moved' | 'stayed' | 'unsure'
  /** True: it had another title before. */
  readonly retitled: boolean
}

/** What came, went, moved and was retitled between two answers to a query. */
export function compare(before: NightAnswer, now: NightAnswer): readonly SerpChange[] {
  const [old, fresh] = [firstOfEach(before.results), firstOfEach(now.results)]
  const there = [...fresh].map(([key, result]) => {
    const other = old.get(key) ?? null
    return judge({ before: other, now: result }, before.serp.depth)
  })
  const gone = [...old]
    .filter(([key]) => !fresh.has(key))
    .map(([, result]) => judge({ before: result, now: null }, now.serp.depth))
  return [...there, ...gone]
}

/** A page may be shown twice: its best place counts. What has no address is known by its title. */
function firstOfEach(results: readonly SerpResult[]): ReadonlyMap<string, SerpResult> {
  const found = new Map<string, SerpResult>()
  const best = results.toSorted(
    (a, b) => (a.position ?? Infinity) - (b.position ?? Infinity) || a.ordinal - b.ordinal,
  )
  for (const result of best) {
    const key = result.pageKey ?? `title ${result.title ?? ''}`
    if (!found.has(key)) found.set(key, result)
  }
  return found
}

/** Came and went are known only where the other answer was deep enough to have shown the place. */
function judge(
  { before, now }: Pick<SerpChange, 'before' | 'now'>,
  otherDepth: number,
): SerpChange {
  const place = (now ?? before)?.position ?? null
  const retitled = before !== null && now !== null && before.title !== now.title
  if (before !== null && now !== null) {
    const kind = before.position === now.position ? 'stayed' : 'moved'
    return { before, now, kind, retitled }
  }
  const sure = place !== null && place <= otherDepth
  return { before, now, kind: sure ? (now === null ? 'went' : 'came') : 'unsure', retitled }
}
