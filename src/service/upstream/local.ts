import { sentParams, type Answered, type Provider } from '../answer.ts'
import { loadShipped } from '../corpus/load.ts'
import type { Tables } from '../database.ts'
import type { Drift } from './drift.ts'
import { enrich } from '../enrich/enrich.ts'
import { Gazetteer } from '../enrich/gazetteer.ts'
import { findAsked, findPages, languageOf, type FoundPage } from './find.ts'
import type { NamedEntity, OrganicResult, Search } from '../schemas.ts'
import { makeSnippet } from './snippet.ts'

export interface Local extends Provider {
  /** Resolves when the documents are there; searches wait for it by themselves. */
  readonly ready: Promise<void>
}

/** Finds real pages without a network, among the documents that ship with the program and those added since. */
export function openLocal(tables: Tables, drift: Drift): Local {
  const gazetteer = prepare(tables)
  // A search that waits for the documents reports the failure; unheard, it would end the process.
  gazetteer.catch(() => undefined)
  return {
    name: 'local',
    ready: gazetteer.then(() => undefined),
    answer: async (search) => answer({ tables, drift, gazetteer: await gazetteer }, search),
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

async function answer({ tables, drift, gazetteer }: Parts, search: Search): Promise<Answered> {
  const wanted = drift.moves ? search.num + reserve : search.num
  const [pages, asked] = await Promise.all([
    findPages(tables, search, wanted),
    findAsked(tables, search.q),
  ])
  const shown = drift.rank(search.q, pages.slice(0, wanted)).slice(0, search.num)
  const results = shown.map((page, index) => toResult(search.q, page, index))
  return {
    answer: await enrich(
      search.q,
      { results, pool: pages, suggestions: [], asked, known: [] },
      gazetteer,
    ),
    ignored: ignoredParams(search, shown),
    partial: false,
  }
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

/** The documents know no places and no devices; a language counts where some of them are written in it. */
function ignoredParams(search: Search, shown: readonly FoundPage[]): string[] {
  const language = languageOf(search)
  const spoken = language === 'en' || shown.some(({ lang }) => lang === language)
  return sentParams(
    search,
    spoken ? ['location', 'gl', 'device'] : ['location', 'hl', 'gl', 'device'],
  )
}
