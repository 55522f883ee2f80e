// The plausibility rules for answers: how far a run's results moved, and which of its answers cannot be what was asked for.

/** An answer of the run that is being judged: its query, its first ten, and older answers to that query. */
export interface RunAnswer {
  readonly search_id: number
  readonly q: string
  /** A mark for each page at 1 to 10, best first. */
  readonly pages: readonly number[]
  /** Share of the first ten on country domains of another country than the one asked for; null: no country was asked for. */
  readonly foreign: number | null
  /** Answers of earlier days, the newest first. */
  readonly earlier: readonly EarlierAnswer[]
}

interface EarlierAnswer {
  /** Days since 1970-01-01. */
  readonly day: number
  /** False: it is quarantined. */
  readonly trusted: boolean
  readonly pages: readonly number[]
}

/** Figures of a run that its results give; null where too few answers tell. */
export interface ResultFigures {
  readonly compared: number
  readonly turnover: number | null
  readonly turnover_newest: number | null
  readonly sameness: number | null
  readonly repeats: number | null
  readonly foreign_share: number | null
  readonly stale: number | null
}

/** An answer with its scores, each from 0 (as ever) to 1. */
export interface ScoredAnswer {
  readonly answer: RunAnswer
  readonly turnover: number | null
  readonly turnover_newest: number | null
  readonly sameness: number | null
  readonly repeats: number | null
  readonly foreign_share: number | null
  /** Other queries of the run that show the greater part of its pages. */
  readonly sharers: number
  /** The query whose last answer this one repeats; null: none. */
  readonly belongsTo: string | null
}

/** An answer that is not trusted although the rest of its run is. */
export interface Doubt {
  readonly search_id: number
  readonly reason: string
  readonly score: number
}

/** Fewer queries say too little of what they have in common. */
const leastQueries = 5
/** Fewer changed answers say too little about a copy of an older day. */
const leastChanged = 8
/** From here on an answer has next to nothing in common with the one before. */
const allNew = 0.9

export function scoreAnswers(answers: readonly RunAnswer[]): readonly ScoredAnswer[] {
  const { holders, queries } = countHolders(answers)
  const owners = ownersOf(answers)
  return answers.map((answer): ScoredAnswer => {
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
      sharers: others.toSorted((a, b) => b - a)[Math.ceil(others.length * 0.8) - 1] ?? 0,
      belongsTo: belongsTo(answer, owners),
    }
  })
}

/** The figures of a run from the scores of its answers. */
export function figuresOf(scored: readonly ScoredAnswer[]): ResultFigures {
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
 * Answers that are not what was asked for, whatever the rest of the run looks like: nothing of their own past is left, and
 * they show what several other queries show, or what belongs to another query; or most of their places hold one page.
 */
export function findDoubts(scored: readonly ScoredAnswer[]): readonly Doubt[] {
  return scored.flatMap(({ answer, turnover, sharers, repeats, belongsTo: owner }): Doubt[] => {
    const { search_id: id, pages } = answer
    if (pages.length < leastQueries || isSettled(answer)) return []
    const moved = turnover ?? 0
    if (owner !== null && moved >= allNew) {
      const reason = `it shows the results of another query: ${JSON.stringify(owner)}`
      return [{ search_id: id, reason, score: moved }]
    }
    if (sharers >= 3 && moved >= allNew) {
      const reason = `it shows the results of ${sharers} other queries, and none of its own`
      return [{ search_id: id, reason, score: moved }]
    }
    const again = repeats ?? 0
    if (again < 0.5) return []
    const reason = `${Math.round(again * 100)} % of its first places repeat a page`
    return [{ search_id: id, reason, score: again }]
  })
}

/** Whether the two answers before were doubted as well and show the same: a change that lasts is no fault. */
function isSettled({ pages, earlier }: RunAnswer): boolean {
  const last = earlier.slice(0, 2)
  return (
    last.length === 2 &&
    last.every((one) => !one.trusted && (turnoverBetween(one.pages, pages) ?? 1) < 0.3)
  )
}

/**
 * How far the first ten moved between two answers, from 0 to 1: places moved, of the most that could be moved. A page that
 * is missing stands one place below the last that both show. Null: one of them shows nothing.
 */
function turnoverBetween(
  before: readonly number[] | undefined,
  now: readonly number[],
): number | null {
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

/** How many different queries show each page. Variants of one query, as for two devices, count once. */
function countHolders(answers: readonly RunAnswer[]) {
  const shown = new Map<string, Set<number>>()
  for (const { q, pages } of answers) {
    const all = shown.get(q) ?? new Set()
    for (const page of pages) all.add(page)
    if (all.size > 0) shown.set(q, all)
  }
  const holders = new Map<number, number>()
  for (const all of shown.values()) {
    for (const page of all) holders.set(page, (holders.get(page) ?? 0) + 1)
  }
  return { holders, queries: shown.size }
}

/** Which query an answer's first three pages belonged to last; null where they belonged to several. */
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

function belongsTo(
  { q, pages }: RunAnswer,
  owners: ReadonlyMap<string, RunAnswer | null>,
): string | null {
  const owner = owners.get(signatureOf(pages) ?? '')
  if (owner === undefined || owner === null || owner.q === q) return null
  const theirs = owner.earlier.find(({ trusted }) => trusted)?.pages ?? []
  return (turnoverBetween(theirs, pages) ?? 1) < 0.3 ? owner.q : null
}

function signatureOf(pages: readonly number[]): string | null {
  return pages.length < leastQueries ? null : pages.slice(0, 3).join(' ')
}

/**
 * The greatest share of answers that went back to exactly what they showed on one earlier day, of those that had changed
 * since: copies of that day rather than new answers. Two are added to those that changed: of few, chance takes some back.
 */
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
