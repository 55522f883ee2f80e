// Adds intent, sentiment, clusters, entities and related searches to results.

import { parseUrl } from '../../base/address.ts'
import type { FoundAnswer } from '../sell.ts'
import { titleAlone } from '../corpus/document.ts'
import type { NamedEntity, OrganicResult } from '../schemas.ts'
import { labelClusters, type ClusterText } from './clusters.ts'
import { findEntities, type Gazetteer } from './entities.ts'
import { headOf, labelIntent, labelSentiment, relateSearches } from './labels.ts'

/** A provider's results, before labels are added. */
interface Findings {
  readonly results: OrganicResult[]
  /** Results and additional candidates, because labels are based on more pages than the answer shows. */
  readonly pool: readonly { readonly title: string; readonly url: string; readonly text: string }[]
  readonly suggestions: readonly string[]
  readonly known: readonly NamedEntity[]
}

/** A list of labels is empty if nothing is known. */
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

/** Returns the title and text of each page, without sentences found on earlier pages, such as menus and copies. */
function freshTexts(pool: Findings['pool']): ClusterText[] {
  const seen = new Set<string>()
  return pool.map(({ title, url, text }) => {
    const sentences = text
      .split(/(?<=[.:!?])\s+/)
      .filter((sentence) => !seen.has(sentence) && seen.add(sentence))
    // The site name is dropped, because every title on the site contains it.
    const host = parseUrl(url)?.hostname ?? ''
    return { host, text: `${headOf(title)}. ${sentences.join(' ')}` }
  })
}
