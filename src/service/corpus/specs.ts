import { z } from 'zod'
import { withoutBackticks, type DocumentInput } from './document.ts'

const shape = z.array(
  z.looseObject({
    url: z.string(),
    title: z.string(),
    shortTitle: z.string().optional(),
    organization: z.string().optional(),
    groups: z.array(z.looseObject({ name: z.string() })).optional(),
    nightly: z.looseObject({ status: z.string().optional() }).optional(),
    standing: z.string().optional(),
  }),
)

/** One page for each specification of the web platform. */
export function readSpecs(data: unknown): DocumentInput[] {
  return shape.parse(data).map((spec) => {
    const groups = (spec.groups ?? []).map(({ name }) => name)
    const short = withoutBackticks(spec.shortTitle ?? spec.title)
    const parts = [
      short === spec.title ? '' : `${short}.`,
      `Specification${groups.length > 0 ? ` by the ${groups.join(' and the ')}` : ''}.`,
      spec.nightly?.status ?? '',
      spec.standing === 'good' ? '' : `${spec.standing ?? ''}.`,
    ]
    return {
      url: spec.url,
      title: withoutBackticks(spec.title),
      text: parts.filter((part) => part !== '' && part !== '.').join(' '),
      entities: [
        { name: short.replace(/ (Module )?Level \d+$/, ''), type: 'Technology' },
        ...groups.map((name) => ({ name, type: 'Organization' })),
        ...(spec.organization === undefined
          ? []
          : [{ name: spec.organization, type: 'Organization' }]),
      ],
    }
  })
}
