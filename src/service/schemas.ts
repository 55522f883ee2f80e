// The service's parameters and responses: Zod schemas for validation, and their description as OpenAPI.

import { z } from '@hono/zod-openapi'
import { devices } from '../base/query.ts'
import { intents } from './enrich/labels.ts'
import { errorResponse, reasons, type RefusalStatus, statusCode } from './refusal.ts'

/** Spec gap: the specification has no usage response. */
export const usageResponse = z
  .object({
    success: z.literal(true),
    plan: z.string(),
    credits_quota: z.int(),
    credits_used: z.int().describe('Credits used in the current period of the plan.'),
    credits_remaining: z.int(),
    renews_at: z.iso.datetime().nullable().describe('Null for prepaid credits.'),
    rate_limit: z
      .int()
      .nullable()
      .describe('Maximum number of requests per second for the account. Null means no limit.'),
    days: z.array(
      z.object({
        day: z.iso.date(),
        key: z.string().describe('Prefix and last four characters of the key.'),
        requests: z.int(),
        failures: z.int().describe('Requests that failed and were not charged.'),
        credits: z.int(),
      }),
    ),
  })
  .openapi('UsageResponse')

export const usageParams = z.object({
  days: wholeParam('days', [1, 366, 30], 'Number of days to cover, including today.'),
  api_key: z.string().optional().describe('As for a search.'),
})

export const mostResults = 100

const longestQuery = 2048

// Contains both A-Z and a-z, because OpenAPI patterns cannot have the i flag.
const languageTag = /^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/
// Any character except white space, control characters and format characters.
const letter = /[^\s\p{Cc}\p{Cf}]/u
const countryCode = /^[A-Za-z]{2}$/

export const searchParams = z.object({
  q: z
    .string({ error: ({ input }) => `q must be given${input === undefined ? '' : ' once'}` })
    .refine((q) => letter.test(q), rule('q', 'a search query that is not blank'))
    .refine((q) => [...q].length <= longestQuery, rule('q', `at most ${longestQuery} characters`))
    .meta({
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
    .describe(
      'Geographic location, written as a place name. Not in the specification: an unknown place is not an error; ignored parameters are named in X-Ignored-Params.',
    ),
  hl: z
    .string(rule('hl', 'given once'))
    .regex(languageTag, rule('hl', 'a language code like en or pt-BR'))
    .optional()
    .meta({
      description: 'Language code. Not in the specification: en by default; 400 if malformed.',
      example: 'en',
      default: 'en',
    }),
  gl: z
    .string(rule('gl', 'given once'))
    .regex(countryCode, rule('gl', 'a country code of two letters'))
    .optional()
    .meta({
      description: 'Country code. Not in the specification: no default; 400 if malformed.',
      example: 'us',
    }),
  num: wholeParam(
    'num',
    [1, mostResults, 10],
    'Number of results, from 1 to 100. Not in the specification: the default is 10.',
  ),
  device: z
    .enum(devices, rule('device', `one of ${devices.join(', ')}`))
    .optional()
    .meta({
      default: 'desktop',
      description:
        'Not in the specification: the default is desktop. The parameter is accepted and named in X-Ignored-Params, because the results do not depend on it.',
    }),
  api_key: z
    .string()
    .optional()
    .describe(
      'Alternative way to pass the API key. Not in the specification: if both are sent, the Authorization header takes precedence.',
    ),
})

export const searchHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(
      /^[!-~]{1,255}$/,
      rule('Idempotency-Key', '1 to 255 printable ASCII characters without spaces'),
    )
    .optional()
    .meta({
      description:
        'Not in the specification: 1 to 255 printable characters of your choice. If the same key is sent again within a day, the same answer is returned without a second charge.',
      minLength: 1,
      maxLength: 255,
    }),
})

const entity = z.object({ name: z.string(), type: z.string() }).openapi('Entity')

const organicResult = z
  .object({
    position: z.int().min(1).describe('Rank from 1, without gaps.'),
    title: z.string(),
    url: z.url(),
    snippet: z.string().describe('Plain text. It may be empty (not in the specification).'),
    domain: z.string().describe('Host name of url.'),
  })
  .openapi('OrganicResult')

const interpretation = z
  .object({
    query: z.string().describe('The query that was searched.'),
    corrections: z
      .array(z.object({ from: z.string(), to: z.string() }))
      .describe('Words treated as typos, with their corrections.'),
    ignored_words: z.array(z.string()).describe('Words ignored because no page contains them.'),
  })
  .openapi('Interpretation', {
    description:
      'Not in the specification: present only if the search differs from the query that was sent.',
  })

/** A search response, as in section 2.1 of the specification. */
export const searchResponse = z
  .object({
    success: z.literal(true),
    query: z.string().describe('The query that was searched, exactly as it was sent.'),
    intent: z.string().describe(`Not in the specification: one of ${intents.join(', ')}.`),
    sentiment: z.string().describe('Not in the specification: positive, neutral or negative.'),
    clusters: z.array(z.string()),
    entities: z.array(entity),
    organic_results: z.array(organicResult),
    related_searches: z.array(z.string()),
    credits_used: z
      .int()
      .describe(
        'Not in the specification: one credit per ten results, rounded up, at least 1; 0 with a test key.',
      ),
    credits_remaining: z.int().describe('Credits left after this request.'),
    interpretation: interpretation.optional(),
  })
  .openapi('SearchResponse', {
    description:
      'Not in the specification: the first ten fields are always present, and lists may be empty.',
  })

export type NamedEntity = z.infer<typeof entity>
export type Interpretation = z.infer<typeof interpretation>
export type OrganicResult = z.infer<typeof organicResult>
export type SearchResponse = z.infer<typeof searchResponse>

export type Search = Readonly<ReturnType<typeof readSearch>>

/** Fills in defaults. Spec gap 4.1: the default of `num` is 10. The other parameters have no default. */
export function readSearch({ num = 10, gl, location, ...sent }: z.infer<typeof searchParams>) {
  return {
    q: sent.q,
    num,
    hl: sent.hl ?? null,
    gl: gl?.toUpperCase() ?? null,
    location: location?.trim() || null,
    device: sent.device ?? null,
  }
}

function rule(name: string, text: string) {
  return { error: `${name} must be ${text}` }
}

function wholeParam(
  name: string,
  [minimum, maximum, usual]: readonly [number, number, number],
  description: string,
) {
  const text = rule(name, `a whole number from ${minimum} to ${maximum}`)
  return z
    .string(text)
    .regex(/^[+-]?\d+(\.\d+)?([eE]\d+)?$/, text)
    .transform(Number)
    .pipe(z.int(text).min(minimum, text).max(maximum, text))
    .optional()
    .openapi({ type: 'integer', minimum, maximum, default: usual, description })
}

const open = 'Not in the specification:'

function describeHeaders(type: 'string' | 'integer', texts: Readonly<Record<string, string>>) {
  const describe = (text: string) => ({ description: `${open} ${text}`, schema: { type } })
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, describe(text)]))
}

const everyHeader = describeHeaders('string', {
  'X-Request-Id': 'id of this request, which is also in the log.',
})

const keyedHeaders = {
  ...everyHeader,
  ...describeHeaders('integer', {
    'X-Credits-Used':
      'credits that this request used; for a repeated answer, the credits that the original request used.',
    'X-Credits-Remaining': 'credits left.',
    'X-Credits-Reset': 'seconds until the plan renews; absent if it does not renew.',
    'X-RateLimit-Limit': 'maximum requests per second; absent if there is no limit.',
    'X-RateLimit-Remaining': 'requests left in this second.',
    'X-RateLimit-Reset': 'seconds until the next window.',
    'X-Idempotency-Window': 'seconds for which the same Idempotency-Key returns the same answer.',
  }),
}

const waitingHeaders = {
  ...keyedHeaders,
  ...describeHeaders('integer', { 'Retry-After': 'seconds to wait.' }),
}

function refusals(these: readonly RefusalStatus[], headers = everyHeader): object {
  const describe = (status: RefusalStatus) => {
    const specified = status === 401 || status === 403
    const description = `${specified ? '' : `${open} `}${reasons[status]} Code ${statusCode(status)}; nothing is charged.`
    return { description, headers, content: { 'application/json': { schema: errorResponse } } }
  }
  return Object.fromEntries(these.map((status) => [status, describe(status)]))
}

const usualRefusals = {
  ...refusals([403, 404, 408, 413, 414, 417, 431]),
  ...refusals([401], {
    ...everyHeader,
    ...describeHeaders('string', { 'WWW-Authenticate': 'Bearer.' }),
  }),
  ...refusals([405], { ...everyHeader, ...describeHeaders('string', { Allow: 'GET.' }) }),
  ...refusals([400, 500], keyedHeaders),
  ...refusals([429, 503], waitingHeaders),
}

export const searchAnswers = {
  200: {
    description: 'Search response.',
    content: { 'application/json': { schema: searchResponse } },
    headers: {
      ...keyedHeaders,
      ...describeHeaders('string', {
        'X-Ignored-Params': 'names of parameters that were sent and had no effect.',
        'X-Upstream-Partial': 'present if one or more engines failed.',
        'X-Idempotency-Replayed': 'present if the answer repeats an earlier answer.',
      }),
    },
  },
  ...refusals([402, 422, 502, 504], keyedHeaders),
  ...refusals([409], waitingHeaders),
  ...usualRefusals,
}

export const usageAnswers = {
  200: {
    description: `${open} the usage of the key's account.`,
    content: { 'application/json': { schema: usageResponse } },
    headers: keyedHeaders,
  },
  ...usualRefusals,
}

export const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer' },
  parameter: { type: 'apiKey', in: 'query', name: 'api_key' },
} as const

export function openapiHead(baseUrl: string) {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Web Search Results Service',
      version: '1',
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'Structured web search results for a query. Sentences that begin with "Not in the specification" mark behaviour that the specification leaves open.',
    },
    servers: [{ url: baseUrl }],
  }
}
