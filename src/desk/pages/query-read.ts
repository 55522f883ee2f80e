// Reads the data for the page of a query.

import type { Database } from '../../base/database/database.ts'
import { type Note, readNotesBetween } from '../../features/analysis/notes.ts'
import {
  type DayRank,
  type QueryDay,
  type QueryFacts,
  readDayRanks,
  readFirstResults,
  readInteresting,
  readQueryDays,
  readQueryFacts,
  readSaidOf,
  readSerp,
  readSerpResults,
  readSerpWords,
  readVariants,
  type SaidOfQuery,
  type Serp,
  type SerpResult,
  type SerpWords,
  type ShownResult,
  type Variant,
} from '../../features/analysis/query-facts.ts'
import { type AskedSpan, type ReadSpan, readSpan } from '../../features/analysis/span.ts'
import { NotThere } from '../address.ts'

interface QueryAsked {
  readonly id: string
  readonly span: AskedSpan
  /** Requested domains, in addition to the default ones. */
  readonly domains: readonly string[]
}

interface DrawnDomain {
  readonly domain: string
  readonly ours: boolean
}

export interface NightAnswer {
  readonly serp: Serp
  readonly results: readonly SerpResult[]
  readonly words: readonly SerpWords[]
}

export interface QueryFound {
  readonly query: QueryFacts
  readonly span: ReadSpan
  readonly said: readonly SaidOfQuery[]
  readonly variants: readonly Variant[]
  readonly days: readonly QueryDay[]
  readonly shown: readonly DrawnDomain[]
  readonly ranks: readonly DayRank[]
  readonly notes: readonly Note[]
  readonly newest: NightAnswer | null
  /** First results of the newest answers, newest first. */
  readonly first: readonly ShownResult[]
}

const mostShown = 6
const firstResults = { places: 20, most: 60 }

export async function readQueryPage(db: Database, asked: QueryAsked): Promise<QueryFound> {
  const query = await expectQuery(db, asked.id)
  const span = await readSpan(db, asked.span)
  const days = await readQueryDays(db, { query: query.id, ...span })
  const last = days.find(({ search }) => search !== null)
  const newest = last === undefined ? null : await readNightAnswer(db, query.id, last.runDate)
  const interesting = await readInteresting(db, { search: last?.search ?? null, day: span.until })
  const shown = choose(asked.domains, interesting)
  const names = shown.map(({ domain }) => domain)
  return {
    query,
    span,
    days,
    newest,
    shown,
    said: await readSaidOf(db, query.id),
    variants: await readVariants(db, [query.q]),
    ranks: await readDayRanks(db, { query: query.id, ...span }, names),
    notes: await readNotesBetween(db, span),
    first: await readFirstResults(db, { query: query.id, ...span }, firstResults),
  }
}

export async function expectQuery(db: Database, id: string): Promise<QueryFacts> {
  const query = await readQueryFacts(db, id)
  if (query === null) throw new NotThere('There is no such query in any list.')
  return query
}

/** Answer of a day; null if none is shown. */
export async function readNightAnswer(
  db: Database,
  query: string,
  day: string,
): Promise<NightAnswer | null> {
  const serp = await readSerp(db, query, day)
  if (serp === null) return null
  return {
    serp,
    results: await readSerpResults(db, serp.search),
    words: await readSerpWords(db, serp.search),
  }
}

/** Chooses requested domains first, then our own, then the highest-ranking ones. */
function choose(
  asked: readonly string[],
  interesting: readonly DrawnDomain[],
): readonly DrawnDomain[] {
  const ours = new Set(interesting.filter((one) => one.ours).map(({ domain }) => domain))
  const names = new Set([...asked, ...interesting.map(({ domain }) => domain)])
  return [...names].slice(0, mostShown).map((domain) => ({ domain, ours: ours.has(domain) }))
}
