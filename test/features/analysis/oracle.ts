// const roll = dice(seed); const told = await readBase(pool) → the base tables; stepsOf(told), moversOf(steps), … → the
// expected rows of the views, computed in plain TypeScript without any view.
import type { Pool } from 'pg'

/** The same numbers for the same seed. */
export function dice(seed: number): (sides: number) => number {
  let state = seed * 2654435761 + 1
  return (sides) => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 374761393) >>> 0
    return Math.floor((state / 2 ** 32) * sides)
  }
}

/** The task state that represents a day, most informative first. */
const evidences = ['bought', 'reused', 'not asked'] as const
type Evidence = (typeof evidences)[number]

export interface Answer {
  readonly query: string
  readonly day: string
  readonly search: number
  readonly depth: number
  readonly fetched: number
  readonly series: string
  readonly evidence: Evidence
}

export interface Pair {
  readonly now: Answer
  readonly before: Answer
}

export interface Base {
  readonly answers: readonly Answer[]
  /** Best position of each domain in each answer. */
  readonly places: ReadonlyMap<number, ReadonlyMap<string, number>>
}

interface Offer {
  readonly query: string
  readonly day: string
  readonly state: string
  readonly task: number
  readonly served: number | null
}

interface Search {
  readonly id: number
  readonly task: number
  readonly depth: number
  readonly fetched: Date
  readonly origin: string
  readonly api: string
}

/** The base of all views: the newest readable live answer to each query on each day, with its positions. */
export async function readBase(pool: Pool): Promise<Base> {
  const offers = await pool.query<Offer>(
    `select query_id as query, run_date as day, tasks.state, tasks.id as task, search_id as served
    from tasks join runs on runs.id = tasks.run_id`,
  )
  const searches = await pool.query<Search>(
    `select id, task_id as task, coalesce(depth, 0) as depth, fetched_at as fetched, origin, api
    from searches where parse_error is null and origin = 'live'`,
  )
  const found = new Map<string, Answer>()
  for (const offer of offers.rows) {
    for (const search of searches.rows) {
      const older = offer.state === 'reused' || offer.state === 'not_asked'
      const elsewhere = older && offer.served !== null
      if (elsewhere ? search.id !== offer.served : search.task !== offer.task) continue
      const answer: Answer = {
        query: offer.query,
        day: offer.day,
        search: search.id,
        depth: search.depth,
        fetched: search.fetched.getTime(),
        series: `${offer.query} ${search.origin} ${search.api}`,
        evidence: !elsewhere ? 'bought' : offer.state === 'reused' ? 'reused' : 'not asked',
      }
      const key = `${offer.query} ${offer.day}`
      const other = found.get(key)
      if (other === undefined || isBetter(answer, other)) found.set(key, answer)
    }
  }
  return { answers: [...found.values()], places: await readPlaces(pool) }
}

function isBetter(one: Answer, other: Answer): boolean {
  if (one.fetched !== other.fetched) return one.fetched > other.fetched
  if (one.search !== other.search) return one.search > other.search
  return evidences.indexOf(one.evidence) < evidences.indexOf(other.evidence)
}

async function readPlaces(pool: Pool): Promise<Base['places']> {
  const { rows } = await pool.query<{ search: number; domain: string; position: number }>(
    `select search_id as search, regexp_replace(lower(host), '^www\\.', '') as domain, position
    from organic_results join domains on domains.id = organic_results.domain_id`,
  )
  const places = new Map<number, Map<string, number>>()
  for (const { search, domain, position } of rows) {
    const own = places.get(search) ?? new Map<string, number>()
    own.set(domain, Math.min(position, own.get(domain) ?? Infinity))
    places.set(search, own)
  }
  return places
}

/** Each new answer with the previous one. */
export function stepsOf({ answers }: Base): readonly { now: Answer; before: Answer | null }[] {
  const steps: { now: Answer; before: Answer | null }[] = []
  for (const name of new Set(answers.map(({ series }) => series))) {
    let newest = -Infinity
    let before: Answer | null = null
    const series = answers.filter((answer) => answer.series === name)
    for (const now of series.toSorted((a, b) => (a.day < b.day ? -1 : 1))) {
      const isNew = now.evidence === 'reused' && now.fetched > newest
      if (now.evidence === 'bought' || isNew) {
        steps.push({ now, before })
        before = now
      }
      newest = Math.max(newest, now.fetched)
    }
  }
  return steps
}

/** The last known answers on two days, if they differ. */
export function pairsOf({ answers }: Base, since: string, until: string): readonly Pair[] {
  const last = (query: string, day: string) =>
    answers
      .filter((one) => one.query === query && one.day <= day && daysFrom(one.day, day) < 31)
      .toSorted((a, b) => (a.day < b.day ? 1 : -1))[0]
  return [...new Set(answers.map(({ query }) => query))].flatMap((query) => {
    const now = last(query, until)
    const before = last(query, since)
    if (now === undefined || before === undefined) return []
    return now.series === before.series && now.search !== before.search ? [{ now, before }] : []
  })
}

function daysFrom(day: string, other: string): number {
  return (Date.parse(other) - Date.parse(day)) / 86_400_000
}

/** Changes of each domain: query, day, domain, previous position, position, positions moved. */
export function moversOf(pairs: readonly Pair[], places: Base['places']) {
  return pairs
    .flatMap(({ now, before }) => {
      const here = places.get(now.search) ?? new Map<string, number>()
      const there = places.get(before.search) ?? new Map<string, number>()
      return [...new Set([...here.keys(), ...there.keys()])].flatMap((domain) => {
        const position = here.get(domain) ?? null
        const previous = there.get(domain) ?? null
        if (position === null && now.depth < (previous ?? 0)) return []
        if (previous === null && before.depth < (position ?? 0)) return []
        const moved = Math.abs((previous ?? before.depth + 1) - (position ?? now.depth + 1))
        return [[now.query, now.day, domain, previous, position, moved]]
      })
    })
    .map((row) => row.join(' '))
    .toSorted()
}
