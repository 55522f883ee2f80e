import type { Log } from '../../shared/log.ts'
import { shownOf, sentParams, type Answered, type Asker, type Provider } from '../answer.ts'
import { enrich } from '../enrich/enrich.ts'
import { Gazetteer } from '../enrich/gazetteer.ts'
import { Refusal } from '../refusal.ts'
import type { NamedEntity, OrganicResult, Search } from '../schemas.ts'
import { Gate } from './gate.ts'
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
const slots = 2
const longestLine = 256

export interface SearxngOptions {
  readonly url: URL
  readonly log: Log
  readonly fetch?: typeof fetch
  /** What is there after so long is the answer. */
  readonly budgetMs?: number
}

interface Desk {
  readonly gate: Gate
  readonly budgetMs: number
}

/** Finds pages on the live web through a SearXNG of one's own. */
export function openSearxng(options: SearxngOptions): Provider {
  const desk = {
    // Page by page: an upstream that is hurried is blocked by the engines behind it.
    gate: new Gate({ total: slots, each: slots, line: longestLine }),
    budgetMs: options.budgetMs ?? usualBudgetMs,
  }
  const { url: base, log, fetch: get = fetch } = options
  return {
    name: 'searxng',
    answer: async (search, asker) =>
      answer({ base, log, get, places: await loadPlaces(), ...desk }, search, asker),
    close: () => Promise.resolve(),
  }
}

const unnamed = new Gazetteer([])

async function answer(web: Web & Desk, search: Search, asker: Asker): Promise<Answered> {
  const found = await collect(web, search, asker)
  const results = shownOf(search, found.results)
  const suggestions = [...found.corrections, ...[...found.suggestions].toSorted()]
  if (suggestions.length < 4) {
    suggestions.push(
      ...(await web.gate.pass(asker.account, asker.signal, () =>
        complete(web, search, asker.signal),
      )),
    )
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
 * Page after page, one at a time: some engines need the first to give the second. Searches take turns at it, and when the
 * time is over what there is is the answer.
 */
async function collect(web: Web & Desk, search: Search, asker: Asker): Promise<Collected> {
  const byPlace = new Map<string, OrganicResult>()
  const [suggestions, corrections] = [new Set<string>(), new Set<string>()]
  const entities: NamedEntity[] = []
  let partial = false
  const over = AbortSignal.timeout(web.budgetMs)
  const signal = AbortSignal.any([asker.signal, over])
  for (let number = 1; number <= mostPages; number += 1) {
    const page = await turn(web, { search, number, signal, account: asker.account })
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

interface Turn extends PageWish {
  readonly search: Search
  readonly account: number
}

/** Null when the time is over, as when the upstream does not answer: pages that were fetched are not thrown away. */
async function turn(
  web: Web & Desk,
  { search, account, ...wish }: Turn,
): Promise<EnginePage | null> {
  try {
    return await web.gate.pass(account, wish.signal, () => getPage(web, search, wish))
  } catch (error) {
    if (wish.signal.aborted && !(error instanceof Refusal)) return null
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
