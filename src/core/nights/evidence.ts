// Plausibility rules that measure how much a run's results changed, and find answers that do not match their query.

export interface RunAnswer {
  readonly search_id: number
  readonly q: string
  /** Numbers of the pages at positions 1 to 10, best position first. */
  readonly pages: readonly number[]
  /** Share of top ten results on other countries' domains; null if no country was requested. */
  readonly foreign: number | null
  readonly earlier: readonly {
    readonly day: number
    readonly trusted: boolean
    readonly pages: readonly number[]
  }[]
}

/** Figures of a run derived from its results; null if there are too few answers. */
export type ResultFigures = ReturnType<typeof figuresOf>

/** An answer with its scores. Each score ranges from 0 (as usual) to 1. */
export type ScoredAnswer = ReturnType<typeof scoreAnswers>[number]

/** An untrusted answer in a trusted run. */
export interface Doubt {
  readonly search_id: number
  readonly reason: string
  readonly score: number
}

/** Minimum number of queries; pages shared by fewer queries are weak evidence. */
const leastQueries = 5
/** Minimum number of changed answers; fewer answers do not prove that an older day was copied. */
const leastChanged = 8
/** An answer with at least this score has almost nothing in common with the previous answer. */
const allNew = 0.9

export function scoreAnswers(answers: readonly RunAnswer[]) {
  const { holders, queries } = countHolders(answers)
  const owners = ownersOf(answers)
  return answers.map((answer) => {
    const { pages, foreign, earlier } = answer
    const before = earlier.find(({ trusted }) => trusted)
    const others = [...new Set(pages)].map((page) => (holders.get(page) ?? 1) - 1)
    const sum = others.reduce((total, many) => total + many, 0)
    const common = queries < leastQueries || others.length === 0
    return {
      answer,
      turnover: turnoverBetween(before?.pages, pages),
      turnover_newest: turnoverBetween(earlier[0]?.pages, pages),
      sameness: common ? null : sum / others.length / (queries - 1),
      repeats: pages.length === 0 ? null : 1 - others.length / pages.length,
      foreign_share: foreign,
      /** Number of other queries in the run that show most of the same pages. */
      sharers: others.toSorted((a, b) => b - a)[Math.ceil(others.length * 0.8) - 1] ?? 0,
      /** Query whose last answer is nearly the same as this answer; null if there is none. */
      belongsTo: belongsTo(answer, owners),
    }
  })
}

export function figuresOf(scored: readonly ScoredAnswer[]) {
  return {
    compared: scored.filter(({ turnover }) => turnover !== null).length,
    turnover: mean(scored.map(({ turnover }) => turnover)),
    turnover_newest: mean(scored.map(({ turnover_newest: turnover }) => turnover)),
    sameness: mean(scored.map(({ sameness }) => sameness)),
    repeats: mean(scored.map(({ repeats }) => repeats)),
    foreign_share: mean(scored.map(({ foreign_share: share }) => share)),
    stale: staleness(scored.map(({ answer }) => answer)),
  }
}

/**
 * Finds answers that can't belong to their query, regardless of the run's other answers: answers that show results of
 * other queries and almost none of their own query's earlier results, and answers with repeated pages in at least half
 * of their positions.
 */
export function findDoubts(scored: readonly ScoredAnswer[]): readonly Doubt[] {
  return scored.flatMap(({ answer, turnover, sharers, repeats, belongsTo: owner }): Doubt[] => {
    const { search_id: id, pages } = answer
    if (pages.length < leastQueries || isSettled(answer)) return []
    const moved = turnover ?? 0
    if (owner !== null && moved >= allNew) {
      const reason = `the answer shows the results of another query: ${JSON.stringify(owner)}`
      return [{ search_id: id, reason, score: moved }]
    }
    if (sharers >= 3 && moved >= allNew) {
      const reason = `the answer shows the results of ${sharers} other queries but none of its own`
      return [{ search_id: id, reason, score: moved }]
    }
    const again = repeats ?? 0
    if (again < 0.5) return []
    const reason = `${Math.round(again * 100)} % of the answer's top 10 results are repeated pages`
    return [{ search_id: id, reason, score: again }]
  })
}

/** True for a lasting change: the two previous answers were also rejected, and show the same pages. */
function isSettled({ pages, earlier }: RunAnswer): boolean {
  const last = earlier.slice(0, 2)
  return (
    last.length === 2 &&
    last.every((one) => !one.trusted && (turnoverBetween(one.pages, pages) ?? 1) < 0.3)
  )
}

/**
 * Sum of the distances that the top ten pages moved, divided by the maximum. A missing page is treated as one
 * position below the last position that both answers cover. Returns null if one of the answers has no results.
 */
function turnoverBetween(before: readonly number[] | undefined, now: readonly number[]) {
  const places = Math.min(before?.length ?? 0, now.length)
  if (before === undefined || places === 0) return null
  const placeIn = (pages: readonly number[], page: number) => {
    const at = pages.indexOf(page)
    return at === -1 || at >= places ? places : at
  }
  const pages = new Set([...before.slice(0, places), ...now.slice(0, places)])
  const moved = [...pages].reduce(
    (sum, page) => sum + Math.abs(placeIn(before, page) - placeIn(now, page)),
    0,
  )
  return Math.min(1, moved / (places * (places + 1)))
}

/**
 * Counts the distinct queries whose answers contain each page, except pages of a single query. Variants with the same
 * text count only once. The pages are counted in a sorted array, because maps of all pages would need far more memory.
 */
function countHolders(answers: readonly RunAnswer[]) {
  const shown = new Int32Array(answers.reduce((sum, { pages }) => sum + pages.length, 0))
  let [length, queries] = [0, 0]
  let last: string | null = null
  const seen = new Set<number>()
  for (const { q, pages } of answers.toSorted((a, b) => Number(a.q > b.q) - Number(a.q < b.q))) {
    if (pages.length === 0) continue
    if (q !== last) {
      queries += 1
      seen.clear()
      last = q
    }
    for (const page of pages) {
      if (seen.has(page)) continue
      seen.add(page)
      shown[length] = page
      length += 1
    }
  }
  return { holders: countRepeated(shown.subarray(0, length).toSorted()), queries }
}

/** Counts the occurrences of each number that a sorted array contains more than once. */
function countRepeated(sorted: Int32Array): ReadonlyMap<number, number> {
  const counts = new Map<number, number>()
  for (const [at, number] of sorted.entries()) {
    if (number === sorted[at - 1]) counts.set(number, (counts.get(number) ?? 1) + 1)
  }
  return counts
}

/** Maps the first pages of a query's last trusted answer to its new answer; null if other queries share the pages. */
function ownersOf(answers: readonly RunAnswer[]): ReadonlyMap<string, RunAnswer | null> {
  const owners = new Map<string, RunAnswer | null>()
  for (const answer of answers) {
    const before = answer.earlier.find(({ trusted }) => trusted)?.pages ?? []
    const key = signatureOf(before)
    if (key === null) continue
    const other = owners.get(key)
    owners.set(key, other === undefined || other?.q === answer.q ? answer : null)
  }
  return owners
}

function belongsTo({ q, pages }: RunAnswer, owners: ReadonlyMap<string, RunAnswer | null>) {
  const owner = owners.get(signatureOf(pages) ?? '')
  if (owner === undefined || owner === null || owner.q === q) return null
  const theirs = owner.earlier.find(({ trusted }) => trusted)?.pages ?? []
  return (turnoverBetween(theirs, pages) ?? 1) < 0.3 ? owner.q : null
}

function signatureOf(pages: readonly number[]): string | null {
  return pages.length < leastQueries ? null : pages.slice(0, 3).join(' ')
}

/** Highest share of changed answers that exactly match one earlier day's answers, and may therefore be copies. */
function staleness(answers: readonly RunAnswer[]): number | null {
  const days = new Map<number, { changed: number; back: number }>()
  for (const { pages, earlier } of answers) {
    const [newest, ...older] = earlier.filter(({ trusted }) => trusted)
    if (newest === undefined) continue
    for (const { day, pages: then } of older) {
      if (isSame(then, newest.pages)) continue
      const sums = days.get(day) ?? { changed: 0, back: 0 }
      sums.changed += 1
      if (isSame(then, pages)) sums.back += 1
      days.set(day, sums)
    }
  }
  // Adds two to the number of changed answers, because a few answers may match an earlier day by chance.
  const shares = [...days.values()]
    .filter(({ changed }) => changed >= leastChanged)
    .map(({ changed, back }) => back / (changed + 2))
  return shares.length === 0 ? null : Math.max(...shares)
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((page, at) => page === b[at])
}

function mean(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length
}
