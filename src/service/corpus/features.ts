import { z } from 'zod'
import { withoutBackticks, plainText, type DocumentInput } from './document.ts'
import { unhandled } from '../../shared/errors.ts'

/** What a web feature is called and what it is, for the pages that belong to it. */
export type FeatureText = Map<string, { readonly name: string; readonly text: string }>

const oneOrMore = z.union([z.string(), z.array(z.string())])

const shape = z.object({
  features: z.record(
    z.string(),
    z.looseObject({
      kind: z.string(),
      name: z.string().optional(),
      description: z.string().optional(),
      spec: oneOrMore.optional(),
      group: oneOrMore.optional(),
      status: z
        .looseObject({
          baseline: z.union([z.literal('high'), z.literal('low'), z.literal(false)]).optional(),
          baseline_low_date: z.string().optional(),
        })
        .optional(),
    }),
  ),
  groups: z.record(z.string(), z.looseObject({ name: z.string() })),
})

/** One page for each feature of the web platform. */
export function readFeatures(data: unknown, texts: FeatureText): DocumentInput[] {
  const { features, groups } = shape.parse(data)
  const documents: DocumentInput[] = []
  for (const [id, feature] of Object.entries(features)) {
    if (feature.kind !== 'feature' || feature.name === undefined) continue
    const description = plainText(feature.description ?? '')
    texts.set(id, { name: withoutBackticks(feature.name), text: description })
    const names = [feature.group ?? []].flat().map((group) => groups[group]?.name ?? group)
    const status = availability(feature.status)
    documents.push({
      url: `https://web-platform-dx.github.io/web-features-explorer/features/${id}/`,
      title: `${withoutBackticks(feature.name)} - Web features explorer`,
      text: [description, names.length > 0 ? `Part of ${names.join(', ')}.` : '', status]
        .filter((part) => part !== '')
        .join(' '),
      entities: [{ name: withoutBackticks(feature.name), type: 'Technology' }],
    })
  }
  return documents
}

interface Status {
  readonly baseline?: 'high' | 'low' | false | undefined
  readonly baseline_low_date?: string | undefined
}

function availability(status: Status | undefined): string {
  const since = status?.baseline_low_date?.replace('≤', 'at least ') ?? ''
  const baseline = status?.baseline
  switch (baseline) {
    case 'high':
      return `Baseline widely available, newly available since ${since}.`
    case 'low':
      return `Baseline newly available since ${since}.`
    case false:
      return 'Limited availability across major browsers.'
    case undefined:
      return ''
    default:
      throw unhandled('baseline', baseline)
  }
}
