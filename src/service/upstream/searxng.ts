import { sentParams, type Answered, type Provider } from '../answer.ts'
import { enrich } from '../enrich/enrich.ts'
import { Gazetteer } from '../enrich/gazetteer.ts'
import { guessRegion } from './locale.ts'
import { complete, getPage, silence, type EnginePage, type Web } from './metasearch.ts'
import type { NamedEntity, OrganicResult, Search } from '../schemas.ts'
import { plainPage } from './webpage.ts'

const mostPages = 10
const budgetMs = 25_000
const slots = 2

export interface SearxngOptions {
  readonly url: URL
  readonly fetch?: typeof fetch
}

/** Finds pages on the live web through a SearXNG of one's own. */
export function openSearxng(options: SearxngOptions): Provider {
  const gate = openGate(slots)
  const web = { base: options.url, get: options.fetch ?? fetch }
  return {
    name: 'searxng',
    answer: (search, { signal }) => gate(() => answer(web, search, signal)),
    close: () => Promise.resolve(),
  }
}

const unnamed = new Gazetteer([])

async function answer(web: Web, search: Search, signal: AbortSignal): Promise<Answered> {
  const found = await collect(web, search, signal)
  const results = found.results.slice(0, search.num)
  const suggestions = [...found.corrections, ...[...found.suggestions].toSorted()]
  if (suggestions.length < 4) suggestions.push(...(await complete(web, search, signal)))
  return {
    answer: await enrich(
      search.q,
      {
        results,
        pool: found.results.map(({ title, url, snippet }) => ({ title, url, text: snippet })),
        suggestions,
        asked: [],
        known: found.entities,
      },
      unnamed,
    ),
    ignored: ignoredParams(search),
    partial: found.partial,
  }
}

/** `location` counts as far as it names a country that `gl` does not already give. */
function ignoredParams(search: Search): string[] {
  const used = search.gl === null && guessRegion(search.location) !== null
  return sentParams(search, used ? ['device'] : ['location', 'device'])
}

interface Collected {
  readonly results: readonly OrganicResult[]
  readonly suggestions: ReadonlySet<string>
  readonly corrections: ReadonlySet<string>
  readonly entities: readonly NamedEntity[]
  readonly partial: boolean
}

/** Page after page, one at a time: some engines need the first to give the second. */
async function collect(web: Web, search: Search, signal: AbortSignal): Promise<Collected> {
  const byPlace = new Map<string, OrganicResult>()
  const [suggestions, corrections] = [new Set<string>(), new Set<string>()]
  const entities: NamedEntity[] = []
  let partial = false
  const end = performance.now() + budgetMs
  for (let number = 1; number <= mostPages && performance.now() < end; number += 1) {
    const page = await getPage(web, search, { number, signal })
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
    if (byPlace.size === before || byPlace.size >= search.num) break
  }
  return { results: [...byPlace.values()], suggestions, corrections, entities, partial }
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

/** At most so many at once: an upstream that is hurried is blocked by the engines behind it. */
function openGate(free: number): <T>(work: () => Promise<T>) => Promise<T> {
  let left = free
  const waiting: (() => void)[] = []
  return async (work) => {
    if (left === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    else left -= 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) left += 1
      else next()
    }
  }
}
