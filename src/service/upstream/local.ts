// Answers searches from the documents on this machine, without a network.

import { codeOf } from '../../base/errors.ts'
import { awaitedLater } from '../../base/waiting.ts'
import type { Answered, Provider } from '../sell.ts'
import { loadShipped } from '../corpus/load.ts'
import { type Tables, withStatements } from '../database.ts'
import type { Drift } from './mock.ts'
import { enrich } from '../enrich/enrich.ts'
import { Gazetteer } from '../enrich/entities.ts'
import { untilAccepted } from '../listen.ts'
import { tooLate } from '../refusal.ts'
import { findPages, type FoundPage, languageOf, leastPool, makeSnippet } from './find.ts'
import { FairQueue } from './fair-queue.ts'
import type { NamedEntity, Search } from '../schemas.ts'

// Half of the slots, so that one account cannot block the other accounts.
const limits = { placesPerAccount: 2, waitingPerAccount: 512 }

/** Opens the provider that finds pages in the shipped corpus and in added documents. */
export function openLocal(tables: Tables, drift: Drift): Provider {
  // If preparing fails, a search that waits for the documents reports the failure.
  const gazetteer = awaitedLater(prepare(tables))
  const foundBefore: Parts['foundBefore'] = drift.moves ? new Map() : null
  const queue = new FairQueue({ places: tables.searches.options.max, ...limits })
  return {
    name: 'local',
    answer: async (search, { account, deadline, signal, gone }) => {
      const parts = { tables, drift, gazetteer: await gazetteer, foundBefore }
      const turn = { account, deadline, signal: AbortSignal.any([signal, gone]) }
      return await queue.run(turn, async () => {
        await untilAccepted()
        return await answer(parts, search, signal)
      })
    },
  }
}

async function prepare({ pool }: Tables): Promise<Gazetteer> {
  await loadShipped(pool)
  const { rows } = await pool.query<NamedEntity>('select name, type from entities order by key')
  return new Gazetteer(rows)
}

// Number of additional candidates, which move up on days when other pages are missing.
const reserve = 12

interface Parts {
  readonly tables: Tables
  readonly drift: Drift
  readonly gazetteer: Gazetteer
  /** Pages found by earlier searches. A history repeats its queries every day, and documents do not change. */
  readonly foundBefore: Map<string, ReturnType<typeof findPages>> | null
}

async function answer(
  { tables, drift, gazetteer, foundBefore }: Parts,
  search: Search,
  signal: AbortSignal,
): Promise<Answered> {
  const shown = drift.moves ? search.num + reserve : search.num
  const subjectsIn = (text: string) => gazetteer.findAny(text).map(({ name }) => name.toLowerCase())
  const key = JSON.stringify([search.q, languageOf(search), shown])
  const asked =
    foundBefore?.get(key) ??
    withStatements(tables, signal, (run) => findPages(run, search, { shown, subjectsIn }))
  const { pages, meant } = await asked.catch((error: unknown) => {
    // A statement that exceeds its time limit is a slow search rather than a bug.
    throw codeOf(error) === queryCanceled ? tooLate : error
  })
  foundBefore?.set(key, asked)
  const ranked = drift.rank(search.q, pages.slice(0, shown)).slice(0, search.num)
  const results = ranked.map(({ url, title, text }, index) => {
    const snippet = makeSnippet(search.q, text)
    return { position: index + 1, title, url, snippet, domain: new URL(url).hostname }
  })
  const found = {
    results,
    // For pages that are not shown, the beginning is enough.
    pool: closePages(pages.slice(0, leastPool)).map((page) =>
      ranked.includes(page) ? page : { ...page, text: page.text.slice(0, 400) },
    ),
    // The specification has no field for the corrected query, so the corrected query becomes the first related search.
    suggestions: meant === undefined || meant.corrections.length === 0 ? [] : [meant.query],
    known: [],
  }
  return {
    answer: { ...(await enrich(search.q, found, gazetteer)), interpretation: meant },
    ignored: ignoredParams(search, ranked),
    partial: false,
  }
}

const leastClose = 10

/** Drops pages with less than 40 percent of the best page's relevance. They say nothing about the query. */
function closePages(pages: readonly FoundPage[]): FoundPage[] {
  const least = 0.4 * (pages[0]?.score ?? 0)
  return pages.filter(({ score }, index) => index < leastClose || score >= least)
}

const queryCanceled = '57014'

/** Place and device never have an effect, because documents have neither. */
function ignoredParams(search: Search, shown: readonly FoundPage[]): string[] {
  const language = languageOf(search)
  const spoken = language === 'en' || shown.some(({ lang }) => lang === language)
  const params = ['location', 'hl', 'gl', 'device'] as const
  return params.filter((name) => search[name] !== null && !(name === 'hl' && spoken))
}
