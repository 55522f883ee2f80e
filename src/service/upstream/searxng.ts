import type { Log } from '../../shared/log.ts'
import { shownOf, sentParams, type Answered, type Asker, type Provider } from '../answer.ts'
import { enrich } from '../enrich/enrich.ts'
import { Gazetteer } from '../enrich/gazetteer.ts'
import { Refusal } from '../refusal.ts'
import type { NamedEntity, OrganicResult, Search } from '../schemas.ts'
import { FairQueue, type Turn } from './fair-queue.ts'
import {
  complete,
  getPage,
  silence,
  type EnginePage,
  type PageWish,
  type Web,
} from './metasearch.ts'
import { loadPlaces, type Places } from './places.ts'
import { plainPage } from './webpage.ts'

const mostPages = 10
const usualBudgetMs = 20_000
const pagesAtOnce = 2
const waitingPerAccount = 256

export interface SearxngOptions {
  readonly url: URL
  readonly log: Log
  readonly fetch?: typeof fetch
  /** What is there after so long is the answer. */
  readonly budgetMs?: number
}

interface Upstream {
  readonly queue: FairQueue
  readonly budgetMs: number
}

/** Finds pages on the live web through a SearXNG of one's own. */
export function openSearxng(options: SearxngOptions): Provider {
  const upstream = {
    // Page by page: an upstream that is hurried is blocked by the engines behind it.
    queue: new FairQueue({
      places: pagesAtOnce,
      placesPerAccount: pagesAtOnce,
      waitingPerAccount,
    }),
    budgetMs: options.budgetMs ?? usualBudgetMs,
  }
  const { url: base, log, fetch: get = fetch } = options
  return {
    name: 'searxng',
    answer: async (search, asker) =>
      answer({ base, log, get, places: await loadPlaces(), ...upstream }, search, asker),
    close: () => Promise.resolve(),
  }
}

const unnamed = new Gazetteer([])

async function answer(web: Web & Upstream, search: Search, asker: Asker): Promise<Answered> {
  const deadline = Math.min(asker.deadline, performance.now() + web.budgetMs)
  const over = AbortSignal.any([asker.signal, AbortSignal.timeout(web.budgetMs)])
  const found = await collect(web, search, { ...asker, over, deadline })
  const results = shownOf(search, found.results)
  const suggestions = [...found.corrections, ...[...found.suggestions].toSorted()]
  if (suggestions.length < 4) {
    const turn = { account: asker.account, signal: over, deadline: null }
    const completing = web.queue.run(turn, () => complete(web, search, over))
    // An extra: the answer stands when there was no time left for it.
    suggestions.push(...(await completing.catch(() => [])))
    asker.signal.throwIfAborted()
  }
  return {
    answer: await enrich(
      search.q,
      {
        results,
        first: found.results.slice(0, search.num),
        pool: found.results.map(({ title, url, snippet }) => ({ title, url, text: snippet })),
        suggestions,
        asked: [],
        known: found.entities,
      },
      unnamed,
    ),
    ignored: ignoredParams(search, web.places),
    partial: found.partial,
  }
}

/** `location` counts as far as it names a country that `gl` does not already give. */
function ignoredParams(search: Search, places: Places): string[] {
  const used = search.gl === null && places.regionOf(search.location) !== null
  return sentParams(search, used ? ['device'] : ['location', 'device'])
}

interface Collected {
  readonly results: readonly OrganicResult[]
  readonly suggestions: ReadonlySet<string>
  readonly corrections: ReadonlySet<string>
  readonly entities: readonly NamedEntity[]
  readonly partial: boolean
}

/**
 * Page after page, one at a time: some engines need the first to give the second. Each page is a turn of its own in the
 * queue, and when the time is over what there is is the answer.
 */
async function collect(
  web: Web & Upstream,
  search: Search,
  asker: Asker & { readonly over: AbortSignal },
): Promise<Collected> {
  const byPlace = new Map<string, OrganicResult>()
  const [suggestions, corrections] = [new Set<string>(), new Set<string>()]
  const entities: NamedEntity[] = []
  let partial = false
  const { account, over: signal } = asker
  // A search that has begun keeps what it has: only the first page can be refused, and only until then a client can leave.
  const first = {
    account,
    signal: AbortSignal.any([signal, asker.gone]),
    deadline: asker.deadline,
  }
  const next = { account, signal, deadline: null }
  for (let number = 1; number <= mostPages; number += 1) {
    const turn = number === 1 ? first : next
    const page = await takeTurn(web, turn, { search, number, signal })
    asker.signal.throwIfAborted()
    if (page === null) {
      if (number === 1) throw silence()
      partial = true
      break
    }
    partial ||= page.unresponsive_engines.length > 0
    page.suggestions.forEach((text) => suggestions.add(text))
    page.corrections.forEach((text) => corrections.add(text))
    for (const box of page.infoboxes) entities.push({ name: box.infobox, type: typeOf(box) })
    const before = byPlace.size
    for (const result of page.results) addResult(byPlace, result)
    if (number === 1 && byPlace.size === 0 && page.unresponsive_engines.length > 0) throw silence()
    if (byPlace.size === before || byPlace.size >= search.page * search.num) break
  }
  return { results: [...byPlace.values()], suggestions, corrections, entities, partial }
}

/** Null when the time is over, as when the upstream does not answer: pages that were fetched are not thrown away. */
async function takeTurn(
  web: Web & Upstream,
  turn: Turn,
  { search, ...wish }: PageWish & { readonly search: Search },
): Promise<EnginePage | null> {
  try {
    return await web.queue.run(turn, () => getPage(web, search, wish))
  } catch (error) {
    const refused = error instanceof Refusal && turn.deadline !== null
    if (wish.signal.aborted && !refused) return null
    throw error
  }
}

function addResult(
  byPlace: Map<string, OrganicResult>,
  given: EnginePage['results'][number],
): void {
  const page = plainPage(given)
  if (page === null || byPlace.has(page.key)) return
  const { title, url, snippet, domain } = page
  byPlace.set(page.key, { position: byPlace.size + 1, title, url, snippet, domain })
}

const typeByProperty: readonly (readonly [string, readonly string[]])[] = [
  ['Person', ['P569', 'P570', 'P27']],
  ['Place', ['P1082', 'P36', 'P281']],
  ['Organization', ['P159']],
  ['Product', ['P400', 'P178']],
  ['CreativeWork', ['P50', 'P57', 'P175']],
]

/** What kind of thing an infobox is about, told by the Wikidata properties that it lists. */
function typeOf({ attributes }: EnginePage['infoboxes'][number]): string {
  const properties = (attributes ?? []).map(({ entity }) => entity)
  const found = typeByProperty.find(([, ids]) => ids.some((id) => properties.includes(id)))
  return found?.[0] ?? 'Thing'
}
