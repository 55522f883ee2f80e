import { z } from '@hono/zod-openapi'
import { devices } from '../shared/query.ts'
import { additions, readAdditions, rule, wholeParam, type Additions } from './params.ts'

/** Most characters of a query: what the great engines take at most. */
const longestQuery = 2048

// Written out: a pattern in a description of an API has no flags.
const languageTag = /^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/
const countryCode = /^[A-Za-z]{2}$/

const qRule = {
  error: ({ input }: { readonly input?: unknown }) =>
    input === undefined ? 'q must be given' : 'q must be given once',
}

const deviceRule = rule('device', `one of ${devices.join(', ')}`)

/** The parameters of a search. What this refuses is answered with 400, and the message names the rule. */
export const searchParams = z.object({
  q: z
    .string(qRule)
    .refine((q) => q.trim() !== '', rule('q', 'a search query that is not blank'))
    .refine((q) => [...q].length <= longestQuery, rule('q', `at most ${longestQuery} characters`))
    .openapi({
      description: 'Search query.',
      example: 'css grid layout',
      minLength: 1,
      maxLength: longestQuery,
      pattern: '\\S',
    }),
  location: z
    .string(rule('location', 'given once'))
    .max(512, rule('location', 'at most 512 characters'))
    .optional()
    .openapi({
      description:
        'Geographic location, written as a place name. Not in the specification: an unknown place is no error; what is ignored is named in X-Ignored-Params.',
    }),
  hl: z
    .string(rule('hl', 'given once'))
    .regex(languageTag, rule('hl', 'a language code like en or pt-BR'))
    .optional()
    .openapi({
      description: 'Language code. Not in the specification: default en; malformed: 400.',
      example: 'en',
      default: 'en',
    }),
  gl: z
    .string(rule('gl', 'given once'))
    .regex(countryCode, rule('gl', 'a country code of two letters'))
    .optional()
    .openapi({
      description: 'Country code. Not in the specification: no default; malformed: 400.',
      example: 'us',
    }),
  num: wholeParam('num', 1, 100).openapi({
    type: 'integer',
    minimum: 1,
    maximum: 100,
    default: 10,
    description: 'Number of results; from 1 to 100. Not in the specification: default 10.',
  }),
  device: z.enum(devices, deviceRule).optional().openapi({
    default: 'desktop',
    description:
      'Not in the specification: default desktop; accepted and named in X-Ignored-Params, since the results do not depend on it.',
  }),
  ...additions,
  api_key: z.string().optional().openapi({
    description:
      'Alternative way to pass the API key. Not in the specification: the Authorization header wins when both are sent.',
  }),
})

/** The headers of a search that mean something beyond the key. */
export const searchHeaders = z.object({
  'idempotency-key': z.string().optional().openapi({
    description:
      'Not in the specification: 1 to 255 printable characters of your choice. The same one within a day is given the same answer, without a second charge.',
    minLength: 1,
    maxLength: 255,
  }),
})

const entity = z.object({ name: z.string(), type: z.string() }).openapi('Entity')

const organicResult = z
  .object({
    position: z.int().min(1).openapi({ description: 'Rank, from 1, without holes.' }),
    title: z.string(),
    url: z.url(),
    snippet: z
      .string()
      .openapi({ description: 'Plain text. Not in the specification: may be empty.' }),
    domain: z.string().openapi({ description: 'Host name of url.' }),
  })
  .openapi('OrganicResult')

const interpretation = z
  .object({
    query: z.string().openapi({ description: 'What was searched for.' }),
    corrections: z
      .array(z.object({ from: z.string(), to: z.string() }))
      .openapi({ description: 'What was taken for a slip, and what it was put right to.' }),
    ignored_words: z
      .array(z.string())
      .openapi({ description: 'Words that no page holds: they were left out.' }),
  })
  .openapi('Interpretation', {
    description:
      'Not in the specification: there only where something else was searched for than what was sent.',
  })

/** A search response, section 2.1. */
export const searchResponse = z
  .object({
    success: z.literal(true),
    query: z
      .string()
      .openapi({ description: 'The query that was searched, exactly as it was sent.' }),
    intent: z.string().openapi({
      examples: ['informational', 'navigational', 'commercial', 'transactional'],
      description:
        'Not in the specification: informational, navigational, commercial or transactional.',
    }),
    sentiment: z
      .string()
      .openapi({ description: 'Not in the specification: positive, neutral or negative.' }),
    clusters: z.array(z.string()),
    entities: z.array(entity),
    organic_results: z.array(organicResult),
    related_searches: z.array(z.string()),
    credits_used: z.int().openapi({
      description:
        'Not in the specification: one credit for each ten results begun, at least 1; 0 with a test key.',
    }),
    credits_remaining: z.int().openapi({ description: 'Credits left after this request.' }),
    interpretation: interpretation.optional(),
  })
  .openapi('SearchResponse', {
    description:
      'Not in the specification: the first ten fields are always there, lists may be empty.',
  })

/** An error response, section 2.4. */
export const errorResponse = z
  .object({
    success: z.literal(false),
    error: z.object({
      code: z.string().openapi({ description: 'Machine-readable code.' }),
      message: z.string().openapi({ description: 'Human-readable text.' }),
      documentation: z.url().openapi({ description: 'Link to the help page about the error.' }),
    }),
  })
  .openapi('ErrorResponse')

export type NamedEntity = z.infer<typeof entity>
export type Interpretation = z.infer<typeof interpretation>
export type OrganicResult = z.infer<typeof organicResult>
export type SearchResponse = z.infer<typeof searchResponse>
type SearchParams = z.infer<typeof searchParams>

/** One search as the providers see it: every parameter decided. */
export interface Search extends Additions {
  readonly q: string
  readonly num: number
  readonly hl: string | null
  readonly gl: string | null
  readonly location: string | null
  readonly device: SearchParams['device'] | null
}

/** Fills in what was not sent. Spec gap 4.1: `num` is 10, nothing else has an effect unless it is sent. */
export function readSearch(params: SearchParams): Search {
  const num = params.num ?? 10
  return {
    q: params.q,
    num,
    hl: params.hl ?? null,
    gl: params.gl?.toUpperCase() ?? null,
    location: params.location?.trim() || null,
    device: params.device ?? null,
    ...readAdditions(params, num),
  }
}
