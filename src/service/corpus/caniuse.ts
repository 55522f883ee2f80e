import { z } from 'zod'
import { withoutBackticks, plainText, type DocumentInput } from './document.ts'

const shape = z.object({
  data: z.record(
    z.string(),
    z.looseObject({
      title: z.string(),
      description: z.string(),
      notes: z.string().optional(),
      keywords: z.string().optional(),
      categories: z.array(z.string()).optional(),
      links: z.array(z.looseObject({ url: z.string(), title: z.string() })).optional(),
    }),
  ),
})

/** One page for each feature of caniuse.com, and one for each article that it links to. */
export function readCaniuse(data: unknown): DocumentInput[] {
  const documents: DocumentInput[] = []
  for (const [id, feature] of Object.entries(shape.parse(data).data)) {
    const title = withoutBackticks(feature.title)
    const description = plainText(feature.description)
    const keywords = (feature.keywords ?? '').split(',').filter((word) => word !== '')
    documents.push({
      url: `https://caniuse.com/${id}`,
      title: `${title} | Can I use`,
      text: [description, plainText(feature.notes ?? ''), ...listed('Keywords', keywords)]
        .filter((part) => part !== '')
        .join(' '),
      entities: [{ name: title, type: 'Technology' }],
    })
    for (const link of feature.links ?? []) {
      if (!/^https?:/.test(link.url) || !URL.canParse(link.url)) continue
      documents.push({
        url: new URL(link.url).href,
        title: withoutBackticks(link.title),
        text: `${title}: ${description}`,
      })
    }
  }
  return documents
}

function listed(name: string, words: readonly string[]): string[] {
  return words.length === 0 ? [] : [`${name}: ${words.join(', ')}.`]
}
