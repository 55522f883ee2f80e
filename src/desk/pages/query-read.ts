// Reads the data for a query's page.

import type { Database } from '../../base/database/database.ts'
import { readNotesBetween } from '../../features/analysis/notes.ts'
import {
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
} from '../../features/analysis/query-facts.ts'
import { type AskedSpan, readSpan } from '../../features/analysis/span.ts'
import { NotThere } from '../address.ts'

interface QueryAsked {
  readonly id: string
  readonly span: AskedSpan
  /** Requested domains, which are shown in addition to the default domains. */
  readonly domains: readonly string[]
}

export type QueryFound = Awaited<ReturnType<typeof readQueryPage>>
export type NightAnswer = NonNullable<Awaited<ReturnType<typeof readNightAnswer>>>

const mostShown = 6
const firstResults = { places: 20, most: 60 }

export async function readQueryPage(db: Database, asked: QueryAsked) {
  const query = await expectQuery(db, asked.id)
  const span = await readSpan(db, asked.span)
  const days = await readQueryDays(db, { query: query.id, ...span })
  const last = days.find(({ search }) => search !== null)
  const interesting = await readInteresting(db, { search: last?.search ?? null, day: span.until })
  const ours = new Set(interesting.filter((one) => one.ours).map(({ domain }) => domain))
  // Requested domains come first, then our own domains, then the highest-ranking domains.
  const all = new Set([...asked.domains, ...interesting.map(({ domain }) => domain)])
  const names = [...all].slice(0, mostShown)
  return {
    query,
    span,
    days,
    newest: last === undefined ? null : await readNightAnswer(db, query.id, last.runDate),
    shown: names.map((domain) => ({ domain, ours: ours.has(domain) })),
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

/** Reads the answer for a day; null if no answer is shown. */
export async function readNightAnswer(db: Database, query: string, day: string) {
  const serp = await readSerp(db, query, day)
  if (serp === null) return null
  return {
    serp,
    results: await readSerpResults(db, serp.search),
    words: await readSerpWords(db, serp.search),
  }
}
