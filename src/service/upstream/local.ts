import pg from 'pg'
import { shownOf, sentParams, type Answered, type Asker, type Provider } from '../answer.ts'
import { loadShipped } from '../corpus/load.ts'
import type { Tables } from '../database.ts'
import type { Drift } from './drift.ts'
import { enrich } from '../enrich/enrich.ts'
import { Gazetteer } from '../enrich/gazetteer.ts'
import { Refusal } from '../refusal.ts'
import { findAsked, noteAsked } from './asked.ts'
import { findPages, languageOf, type FoundPage } from './find.ts'
import { Gate } from './gate.ts'
import { readQuestion } from './question.ts'
import type { NamedEntity, OrganicResult, Search } from '../schemas.ts'
import { makeSnippet } from './snippet.ts'
import { withStatements } from './statements.ts'

export interface Local extends Provider {
  /** Resolves when the documents are there; searches wait for it by themselves. */
  readonly ready: Promise<void>
}

// Half of the places: one account alone never keeps the others waiting.
const eachAccount = 2
const longestLine = 512

/** Finds real pages without a network, among the documents that ship with the program and those added since. */
export function openLocal(tables: Tables, drift: Drift): Local {
  const gazetteer = prepare(tables)
  const gate = new Gate({
    total: tables.searches.options.max,
    each: eachAccount,
    line: longestLine,
  })
  // A search that waits for the documents reports the failure; unheard, it would end the process.
  gazetteer.catch(() => undefined)
  return {
    name: 'local',
    ready: gazetteer.then(() => undefined),
    answer: async (search, asker) => {
      const parts = { tables, drift, gazetteer: await gazetteer }
      return gate.pass(asker.account, asker.signal, () => answer(parts, search, asker))
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
  { account, signal }: Asker,
): Promise<Answered> {
  const question = readQuestion(search.q)
  const reach = search.page * search.num
  const shown = drift.moves ? reach + reserve : reach
  const subjects = gazetteer.findAny(search.q).map(({ name }) => name.toLowerCase())
  const { pages, asked } = await withStatements(tables, signal, async (run) => ({
    ...(await findPages(run, { search, question, shown, subjects, trigrams: tables.trigrams })),
    asked: await findAsked(run, question),
  })).catch(tellLate)
  const ranked = drift
    .rank(search.q, pages.slice(0, shown))
    .slice(0, reach)
    .map((page, index) => toResult(search.q, page, index))
  const results = shownOf(search, ranked)
  if (results.length > 0) await noteAsked(tables.pool, account, search.q)
  return {
    answer: await enrich(
      search.q,
      {
        results,
        first: ranked.slice(0, search.num),
        pool: closePages(pages),
        suggestions: [],
        asked,
        known: [],
      },
      gazetteer,
    ),
    ignored: ignoredParams(search, shownOf(search, pages)),
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
