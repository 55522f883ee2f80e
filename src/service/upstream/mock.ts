// Generates answers. Identical searches return identical answers, unless daily changes are simulated.

import { dayMs } from '../../base/time/zone.ts'
import type { Answered, FoundAnswer } from '../sell.ts'
import { intents } from '../enrich/labels.ts'
import { fraction, pick, type Random, seeded } from '../../base/random.ts'
import type { NamedEntity, Search } from '../schemas.ts'

const sentiments = ['neutral', 'neutral', 'positive', 'negative'] as const
const hosts = [
  'www.example.com',
  'docs.example.org',
  'shop.example.net',
  'en.wiki.example.net',
  'store.example.co.uk',
  'guide.example.com.au',
  'www.example.de',
] as const
type Angle = readonly [title: string, about: string]
const angles: readonly [Angle, ...Angle[]] = [
  ['A complete guide', 'from the first steps to little-known details'],
  ['Questions and answers', 'common questions from readers, with answers from our editors'],
  ['Compared and explained', 'a side-by-side comparison of the common options'],
  ['Examples', 'a collection of examples to copy and adapt'],
  ['Reference', 'every term in alphabetical order, with notes'],
  ['History', 'from the beginnings to the present day'],
  ['Prices', 'current prices, and the best time to buy'],
]
const labels = ['Getting Started', 'Best Practices', 'Common Mistakes', 'Alternatives', 'Pricing']
const entities: readonly NamedEntity[] = [
  { name: 'Example Foundation', type: 'Organization' },
  { name: 'Ada Example', type: 'Person' },
  { name: 'Exampleville', type: 'Place' },
  { name: 'Example One', type: 'Product' },
  { name: 'The Book of Examples', type: 'CreativeWork' },
  { name: 'ExampleScript', type: 'Technology' },
]
const endings = ['examples', 'guide', 'free', 'vs', 'near me', 'online', 'meaning', 'price']

export function openMock(drift: Drift = noDrift) {
  return {
    name: 'mock',
    answer: (search: Search): Promise<Answered> =>
      Promise.resolve({ answer: invent(search, drift), ignored: [], partial: false }),
  }
}

function invent({ q, num, location, gl, ...search }: Search, drift: Drift): FoundAnswer {
  // A parameter with its default value counts as absent.
  const [hl, device] = [search.hl ?? 'en', search.device ?? 'desktop']
  // The seed does not depend on `num`, so a search for ten results returns the first ten of a hundred.
  const random = seeded(JSON.stringify([q, location, hl, gl, device]))
  const words = q.trim().replace(/\s+/g, ' ')
  const labelled = {
    intent: pick(random, intents),
    sentiment: pick(random, sentiments),
    clusters: some(random, labels, [0, 4]),
    entities: some(random, entities, [0, 5]),
    related_searches: some(random, endings, [1, 8]).map((end) => `${words} ${end}`),
  }
  const slug = encodeURIComponent(words.toLowerCase().replaceAll(' ', '-').slice(0, 60))
  const pages = Array.from({ length: drift.moves ? num + 12 : num }, (_, index) => {
    const domain = pick(random, hosts)
    const [angle, about] = pick(random, angles)
    const end = `${index + 1}-${Math.floor(random() * 1e6).toString(36)}`
    const url = `https://${domain}/${slug}/${end}`
    return { title: `${words}: ${angle}`, url, snippet: `${words}: ${about}.`, domain }
  })
  const ranked = drift.rank(q, pages).slice(0, num)
  const results = ranked.map((page, index) => ({ position: index + 1, ...page }))
  return { ...labelled, organic_results: results }
}

function some<T>(random: Random, items: readonly T[], [least, most]: [number, number]): T[] {
  const orders = new Map(items.map((item) => [item, random()]))
  const count = Math.max(least, Math.floor(random() * (most + 1)))
  return items.toSorted((a, b) => (orders.get(a) ?? 0) - (orders.get(b) ?? 0)).slice(0, count)
}

export interface Drift {
  readonly moves: boolean
  /** Returns a query's pages in the current day's order. Some pages are missing on some days. */
  rank<Page extends { readonly url: string }>(q: string, pages: readonly Page[]): Page[]
}

export const noDrift: Drift = { moves: false, rank: (_q, pages) => [...pages] }

/** With `calm`, the answers to most queries stay the same for days or weeks, as real answers do. */
export function openDrift(seed: string, today: () => Date, calm = false): Drift {
  return {
    moves: true,
    rank(q, pages) {
      const now = Math.floor(today().getTime() / dayMs)
      const day = calm ? lastMove(`${seed}\n${q}`, now) : now
      return pages
        .map((page, index) => ({ page, place: wander(`${seed}\n${q}\n${page.url}`, index, day) }))
        .filter(({ place }) => Number.isFinite(place))
        .toSorted((a, b) => a.place - b.place)
        .map(({ page }) => page)
    },
  }
}

/** Returns the last day on which a query's pages moved. Pages move daily or, for most queries, every 4 to 60 days. */
function lastMove(name: string, day: number): number {
  if (fraction(`${name} restless`) < 0.15) return day
  const pace = 4 + Math.floor(56 * fraction(`${name} pace`))
  const phase = Math.floor(pace * fraction(`${name} phase`))
  return Math.floor((day + phase) / pace) * pace - phase
}

/** Varies a page's position by two waves and daily noise. Occasionally removes the page for six days. */
function wander(name: string, index: number, day: number): number {
  const phase = fraction(`${name} phase`)
  const stretch = Math.floor(day / 6 + phase)
  if (fraction(`${name} away ${stretch}`) < 0.04 * Math.min(1, index / 3)) return Infinity
  const slow = Math.sin((day / (11 + 20 * phase) + phase) * 2 * Math.PI)
  const quick = Math.sin((day / (3 + 4 * phase) + 2 * phase) * 2 * Math.PI)
  const noise = 2 * fraction(`${name} ${day}`) - 1
  const reach = 0.6 + 0.35 * index
  return index + reach * (0.9 * slow + 0.3 * quick + 0.5 * noise)
}
