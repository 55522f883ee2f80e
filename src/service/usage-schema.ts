import { z } from '@hono/zod-openapi'
import { rule } from './params.ts'

const usedDay = z.object({
  day: z.iso.date(),
  key: z.string().openapi({ description: 'Prefix and last four characters of the key.' }),
  requests: z.int(),
  failures: z.int().openapi({ description: 'Those among them that failed and were not charged.' }),
  credits: z.int(),
})

/** What the account of a key used. Not in the specification. */
export const usageResponse = z
  .object({
    success: z.literal(true),
    plan: z.string(),
    credits_quota: z.int(),
    credits_used: z.int().openapi({ description: 'In the present period of the plan.' }),
    credits_remaining: z.int(),
    renews_at: z.iso
      .datetime()
      .nullable()
      .openapi({ description: 'Null for credits bought once.' }),
    rate_limit: z.int().openapi({ description: 'Most requests a second of this key.' }),
    days: z.array(usedDay),
  })
  .openapi('UsageResponse')

const daysRule = rule('days', 'a whole number from 1 to 366')

/** The parameters of a question about usage. */
export const usageParams = z.object({
  days: z
    .string(daysRule)
    .regex(/^\d{1,3}$/, daysRule)
    .transform(Number)
    .pipe(z.int(daysRule).min(1, daysRule).max(366, daysRule))
    .optional()
    .openapi({
      type: 'integer',
      minimum: 1,
      maximum: 366,
      default: 30,
      description: 'How many days back, today included.',
    }),
  api_key: z.string().optional().openapi({ description: 'As with a search.' }),
})

export type UsageResponse = z.infer<typeof usageResponse>
