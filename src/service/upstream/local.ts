// Answers searches from the shipped corpus and added documents, without network access.

import { codeOf } from '../../base/errors.ts'
import { awaitedLater } from '../../base/waiting.ts'
import type { Provider } from '../sell.ts'
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

export function openLocal(tables: Tables, drift: Drift): Provider {
  // If loading fails, each search that needs the documents reports the error.
  const loading = awaitedLater(loadGazetteer(tables))
  // Each account gets at most half of the slots, so that it cannot block other accounts.
  const places = tables.searches.options.max
  const queue = new FairQueue({ places, placesPerAccount: 4, waitingPerAccount: 512 })
  // Results are cached, because simulated nights repeat queries and documents do not change.
  const foundBefore = drift.moves ? new Map<string, ReturnType<typeof findPages>>() : null

  return {
    name: 'local',
    answer: async (search, { account, deadline, signal, gone }) => {
      const gazetteer = await loading
      const turn = { account, deadline, signal: AbortSignal.any([signal, gone]) }
      // The extra pages replace pages that are missing on some days.
      const shown = drift.moves ? search.num + 12 : search.num
      const found = await queue.run(turn, async () => {
        await untilAccepted()
        const key = JSON.stringify([search.q, languageOf(search), shown])
        const finding =
          foundBefore?.get(key) ??
          withStatements(tables, signal, (run) => findPages(run, search, { shown, gazetteer }))
        foundBefore?.set(key, finding)
        return await finding.catch((error: unknown) => {
          // A statement that exceeds its time limit (57014) is a slow search rather than a bug.
          throw codeOf(error) === '57014' ? tooLate : error
        })
      })
      const ranked = drift.rank(search.q, found.pages.slice(0, shown)).slice(0, search.num)
      return await toAnswer(search, { ...found, ranked }, gazetteer)
    },
  }
}

type Found = Awaited<ReturnType<typeof findPages>> & { readonly ranked: readonly FoundPage[] }

async function toAnswer(search: Search, { pages, meant, ranked }: Found, gazetteer: Gazetteer) {
  const found = {
    results: ranked.map(({ url, title, text }, index) => {
      const snippet = makeSnippet(search.q, text)
      return { position: index + 1, title, url, snippet, domain: new URL(url).hostname }
    }),
    pool: pages
      .slice(0, leastPool)
      .filter(({ score }, index) => index < 10 || score >= 0.4 * (pages[0]?.score ?? 0))
      // Only the beginning of the text is needed for pages that are not shown.
      .map((page) => (ranked.includes(page) ? page : { ...page, text: page.text.slice(0, 400) })),
    // The corrected query becomes the first related search, because the specification has no field for it.
    suggestions: meant?.corrections.length && !meant.ignored_words.length ? [meant.query] : [],
    known: [],
  }
  return {
    answer: { ...(await enrich(search.q, found, gazetteer)), interpretation: meant },
    ignored: ignoredParams(search, ranked),
    partial: false,
  }
}

async function loadGazetteer({ pool }: Tables): Promise<Gazetteer> {
  await loadShipped(pool)
  const { rows } = await pool.query<NamedEntity>('select name, type from entities order by key')
  return new Gazetteer(rows)
}

/** Documents have no place or device, so these parameters have no effect. */
function ignoredParams(search: Search, shown: readonly FoundPage[]): string[] {
  const language = languageOf(search)
  const spoken = language === 'en' || shown.some(({ lang }) => lang === language)
  const params = ['location', 'hl', 'gl', 'device'] as const
  return params.filter((name) => search[name] !== null && !(name === 'hl' && spoken))
}
