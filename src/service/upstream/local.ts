import pg from 'pg'
import { type Answered, type Asker, type Provider, sentParams, shownOf } from '../kept.ts'
import { loadShipped } from '../corpus/load.ts'
import type { Tables } from '../database.ts'
import type { Drift } from './mock.ts'
import { enrich } from '../enrich/enrich.ts'
import { Gazetteer } from '../enrich/entities.ts'
import { Refusal } from '../refusal.ts'
import { findPages, type FoundPage, languageOf, leastPool, makeSnippet, readTexts } from './find.ts'
import { FairQueue } from './fair-queue.ts'
import { readQuestion, withStatements } from './question.ts'
import type { NamedEntity, OrganicResult, Search } from '../schemas.ts'

interface Local extends Provider {
  /** Resolves when the documents are there; searches wait for it by themselves. */
  readonly ready: Promise<void>
}

// Half of the places: one account alone never keeps the others waiting.
const placesPerAccount = 2
const waitingPerAccount = 512

/** Finds real pages without a network, among the documents that ship with the program and those added since. */
export function openLocal(tables: Tables, drift: Drift): Local {
  const gazetteer = prepare(tables)
  const queue = new FairQueue({
    places: tables.searches.options.max,
    placesPerAccount,
    waitingPerAccount,
  })
  // A search that waits for the documents reports the failure; unheard, it would end the process.
  gazetteer.catch(() => undefined)
  return {
    name: 'local',
    ready: gazetteer.then(() => undefined),
    answer: async (search, asker) => {
      const parts = { tables, drift, gazetteer: await gazetteer }
      const { account, deadline } = asker
      const signal = AbortSignal.any([asker.signal, asker.gone])
      return queue.run({ account, signal, deadline }, () => answer(parts, search, asker))
    },
    close: async () => {
      await gazetteer.catch(() => undefined)
    },
  }
}

async function prepare({ pool }: Tables): Promise<Gazetteer> {
  await loadShipped(pool)
  const { rows } = await pool.query<NamedEntity>('select name, type from entities order by key')
  return new Gazetteer(rows)
}

interface Parts {
  readonly tables: Tables
  readonly drift: Drift
  readonly gazetteer: Gazetteer
}

// Pages beyond those shown, so that some can move up on days when others are away.
const reserve = 12

async function answer(
  { tables, drift, gazetteer }: Parts,
  search: Search,
  { signal }: Asker,
): Promise<Answered> {
  const question = readQuestion(search.q)
  const reach = search.page * search.num
  const shown = drift.moves ? reach + reserve : reach
  const subjectsIn = (text: string) => gazetteer.findAny(text).map(({ name }) => name.toLowerCase())
  const { pages, ranked, meant } = await withStatements(tables, signal, async (run) => {
    const wish = { search, question, shown, subjectsIn, trigrams: tables.trigrams }
    const found = await findPages(run, wish)
    const moved = drift.rank(search.q, found.pages.slice(0, shown)).slice(0, reach)
    // What is said about the query rests on the first page, whichever is shown.
    const read = [...moved.slice(0, search.num), ...shownOf(search, moved)]
    const texts = await readTexts(run, read)
    const withText = (page: FoundPage) => ({ ...page, text: texts.get(page.id) ?? page.text })
    return {
      pages: found.pages.slice(0, leastPool).map(withText),
      ranked: moved.map(withText),
      meant: found.meant,
    }
  }).catch(tellLate)
  const results = ranked.map((page, index) => toResult(search.q, page, index))
  const given = shownOf(search, results)
  const said = await enrich(
    search.q,
    {
      results: given,
      first: results.slice(0, search.num),
      pool: closePages(pages),
      // Said where the specification has room for it: what was looked for instead of what was typed.
      suggestions: meant === null || meant.corrections.length === 0 ? [] : [meant.query],
      known: [],
    },
    gazetteer,
  )
  return {
    answer: meant === null ? said : { ...said, interpretation: meant },
    ignored: ignoredParams(search, shownOf(search, ranked)),
    partial: false,
  }
}

const leastClose = 10

/** Pages that are about the same as the best one: what stands far below it says nothing about the query. */
function closePages(pages: readonly FoundPage[]): FoundPage[] {
  const least = 0.4 * (pages[0]?.score ?? 0)
  return pages.filter(({ score }, index) => index < leastClose || score >= least)
}

const queryCanceled = '57014'

/** A statement that was ended because it took too long is no bug, and no reason to try the same again at once. */
function tellLate(error: unknown): never {
  if (!(error instanceof pg.DatabaseError) || error.code !== queryCanceled) throw error
  throw new Refusal(504, 'The search took too long; nothing was charged')
}

function toResult(q: string, { url, title, text }: FoundPage, index: number): OrganicResult {
  return {
    position: index + 1,
    title,
    url,
    snippet: makeSnippet(q, text),
    domain: new URL(url).hostname,
  }
}

/** The documents know no places, devices, ages or adults; a language counts where some of them are written in it. */
function ignoredParams(search: Search, shown: readonly FoundPage[]): string[] {
  const language = languageOf(search)
  const spoken = language === 'en' || shown.some(({ lang }) => lang === language)
  const hl = spoken ? [] : (['hl'] as const)
  return sentParams(search, ['location', ...hl, 'gl', 'device', 'safe', 'freshness'])
}
