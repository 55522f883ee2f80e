// Adds intent, sentiment, clusters, entities and related searches to results.

import type { FoundAnswer } from '../sell.ts'
import { titleAlone } from '../corpus/load.ts'
import type { NamedEntity, OrganicResult } from '../schemas.ts'
import { labelClusters } from './clusters.ts'
import { findEntities, type Gazetteer } from './entities.ts'
import { dropRepeated, headOf, labelIntent, labelSentiment, relateSearches } from './labels.ts'

interface Findings {
  readonly results: OrganicResult[]
  /** Pages from which labels are derived, including pages that the answer does not show. */
  readonly pool: readonly { readonly title: string; readonly url: string; readonly text: string }[]
  readonly suggestions: readonly string[]
  readonly known: readonly NamedEntity[]
}

export async function enrich(
  q: string,
  { results, pool, suggestions, known }: Findings,
  gazetteer: Gazetteer,
): Promise<FoundAnswer> {
  const top = results.slice(0, 10)
  const texts = top.map(({ title, snippet }) => `${titleAlone(title)}. ${snippet}`)
  const hosts = top.map(({ domain }) => domain)
  const clusters = labelClusters(q, freshTexts(pool), (text) => gazetteer.isName(text))
  const titles = pool.map(({ title }) => title)
  return {
    intent: labelIntent(q, hosts),
    sentiment: labelSentiment(q, texts),
    clusters,
    entities: await findEntities({ q, texts, known }, gazetteer),
    organic_results: results,
    related_searches: relateSearches(q, { suggestions, titles, clusters }),
  }
}

/** Returns each page's title and text, without repeated sentences. */
function freshTexts(pool: Findings['pool']) {
  const texts = dropRepeated(pool.map(({ text }) => text))
  return pool.map(({ title, url }, index) => {
    // Drops the site name, which every title on the site contains.
    const text = `${headOf(title)}. ${texts[index] ?? ''}`
    return { host: url.split('/', 3)[2] ?? '', text }
  })
}
