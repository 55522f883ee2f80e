import { shownOf, type FoundAnswer, type Provider } from '../answer.ts'
import { noDrift, type Drift } from './drift.ts'
import { pick, seeded, type Random } from '../random.ts'
import type { NamedEntity, OrganicResult, Search } from '../schemas.ts'

const intents = ['informational', 'navigational', 'commercial', 'transactional'] as const
const sentiments = ['neutral', 'neutral', 'positive', 'negative'] as const
const hosts = [
  'www.example.com',
  'docs.example.org',
  'shop.example.net',
  'blog.example.com',
  'news.example.org',
  'en.wiki.example.net',
  'forum.example.com',
  'video.example.org',
  'store.example.co.uk',
  'guide.example.com.au',
  'www.example.de',
  'ratings.example.net',
] as const
const angles = [
  'A complete guide',
  'Questions and answers',
  'Compared and explained',
  'What to know first',
  'Examples',
  'Reference',
  'For beginners',
  'In depth',
  'Tips',
  'History',
  'Prices',
  'Near you',
] as const
const labels = [
  'Getting Started',
  'Best Practices',
  'Common Mistakes',
  'Buying Guide',
  'Alternatives',
  'Reviews',
  'Tutorials',
  'Pricing',
] as const
const entities: readonly [NamedEntity, ...NamedEntity[]] = [
  { name: 'Example Foundation', type: 'Organization' },
  { name: 'Ada Example', type: 'Person' },
  { name: 'Exampleville', type: 'Place' },
  { name: 'Example One', type: 'Product' },
  { name: 'The Book of Examples', type: 'CreativeWork' },
  { name: 'ExampleScript', type: 'Technology' },
  { name: 'Placeholder Labs', type: 'Organization' },
]
const endings = [
  'examples',
  'guide',
  'free',
  'vs',
  'near me',
  'online',
  'meaning',
  'price',
] as const

/** Invented answers on hosts that are reserved for examples: the same search always finds the same. */
export function openMock(drift: Drift = noDrift): Provider {
  return {
    name: 'mock',
    answer: (search) =>
      Promise.resolve({ answer: invent(search, drift), ignored: [], partial: false }),
    close: () => Promise.resolve(),
  }
}

/** Every parameter of the search takes part in the seed: another place, another page of results. */
function invent(search: Search, drift: Drift): FoundAnswer {
  const { q, location, gl, safe, freshness } = search
  // What is asked for by its default is the same as what is not asked for.
  const [hl, device] = [search.hl ?? 'en', search.device ?? 'desktop']
  const added = safe === null && freshness === null ? [] : [safe, freshness]
  // `num` and `page` are left out, so that the first ten of a hundred are the ten of ten.
  const random = seeded(JSON.stringify([q, location, hl, gl, device, ...added]))
  const words = q.trim().replace(/\s+/g, ' ')
  return {
    intent: pick(random, intents),
    sentiment: pick(random, sentiments),
    clusters: some(random, labels, 4),
    entities: some(random, entities, 5),
    related_searches: some(random, endings, 8).map((ending) => `${words} ${ending}`),
    organic_results: inventResults(search, drift, random),
  }
}

function inventResults(search: Search, drift: Drift, random: Random): OrganicResult[] {
  const reach = search.page * search.num
  const count = drift.moves ? reach + 12 : reach
  const pages = Array.from({ length: count }, (_, index) => inventPage(search.q, index, random))
  const ranked = drift.rank(search.q, pages)
  return shownOf(
    search,
    ranked.map((page, index) => ({ ...page, position: index + 1 })),
  )
}

function inventPage(q: string, index: number, random: Random): OrganicResult {
  const domain = pick(random, hosts)
  const angle = pick(random, angles)
  const slug = encodeURIComponent(q.trim().toLowerCase().replace(/\s+/g, '-').slice(0, 60))
  const title = `${q.trim().replace(/\s+/g, ' ')}: ${angle}`
  return {
    position: index + 1,
    title,
    url: `https://${domain}/${slug}/${index + 1}-${Math.floor(random() * 1e6).toString(36)}`,
    snippet: `Mock result ${index + 1}. ${angle} for a search in development; nothing here is real.`,
    domain,
  }
}

function some<T>(random: Random, items: readonly T[], most: number): T[] {
  const shuffled = items.map((item) => ({ item, order: random() }))
  shuffled.sort((a, b) => a.order - b.order)
  return shuffled.slice(0, Math.floor(random() * (most + 1))).map(({ item }) => item)
}
