import { errorResponse, searchResponse } from './schemas.ts'
import { usageResponse } from './usage-schema.ts'

const open = 'Not in the specification:'

function header(description: string, type: 'string' | 'integer' = 'string') {
  return { description: `${open} ${description}`, schema: { type } } as const
}

const everyAnswer = {
  'X-Request-Id': header('name of this request; it stands in the log, too.'),
}

const keyedAnswer = {
  ...everyAnswer,
  'X-Credits-Used': header('credits that this request consumed.', 'integer'),
  'X-Credits-Remaining': header('credits left.', 'integer'),
  'X-Credits-Reset': header('seconds until the plan renews; only where it does.', 'integer'),
  'X-RateLimit-Limit': header('most requests a second.', 'integer'),
  'X-RateLimit-Remaining': header('requests left in this second.', 'integer'),
  'X-RateLimit-Reset': header('seconds until the next window.', 'integer'),
  'X-Idempotency-Window': header(
    'there when the same Idempotency-Key gives the same answer for so many seconds.',
    'integer',
  ),
}

const retryAfter = { 'Retry-After': header('seconds to wait.', 'integer') }

function json<Schema>(schema: Schema) {
  return { 'application/json': { schema } }
}

type Headers = Readonly<Record<string, ReturnType<typeof header>>>

function refusal(description: string, headers: Headers = keyedAnswer) {
  return { description, headers, content: json(errorResponse) }
}

const refusals = {
  400: refusal(`${open} a parameter breaks its rule; code BAD_REQUEST, not charged.`),
  401: refusal('No API key supplied; code UNAUTHORIZED.', {
    ...everyAnswer,
    'WWW-Authenticate': header('Bearer.'),
  }),
  403: refusal('Key is invalid or revoked; code FORBIDDEN.', everyAnswer),
  404: refusal(`${open} nothing lives at this address; code NOT_FOUND.`, everyAnswer),
  405: refusal(`${open} only GET is answered; code METHOD_NOT_ALLOWED.`, {
    ...everyAnswer,
    Allow: header('GET.'),
  }),
  413: refusal(`${open} the body is longer than 64 KB; code CONTENT_TOO_LARGE.`, everyAnswer),
  414: refusal(`${open} the address is longer than 16 KB; code URI_TOO_LONG.`, everyAnswer),
  429: refusal(
    `${open} too many requests in this second, or too many searches before this one for it to be answered in time; code TOO_MANY_REQUESTS, not charged.`,
    {
      ...keyedAnswer,
      ...retryAfter,
    },
  ),
  431: refusal(`${open} the head is too large; code REQUEST_HEADER_FIELDS_TOO_LARGE.`, everyAnswer),
  500: refusal(`${open} a bug; code INTERNAL_SERVER_ERROR, not charged.`),
  503: refusal(`${open} no upstream answered; code SERVICE_UNAVAILABLE, not charged.`, {
    ...keyedAnswer,
    ...retryAfter,
  }),
}

/** What a search can be answered with. The texts say where the specification leaves the behaviour open. */
export const searchAnswers = {
  200: {
    description: 'Search response.',
    content: json(searchResponse),
    headers: {
      ...keyedAnswer,
      'X-Ignored-Params': header('names of parameters that were sent and had no effect.'),
      'X-Upstream-Partial': header('there when some engines behind the answer failed.'),
      'X-Idempotency-Replayed': header('there when the answer was given before.'),
    },
  },
  402: refusal(`${open} not enough credits; code PAYMENT_REQUIRED.`),
  409: refusal(`${open} the first request with this Idempotency-Key is in work; code CONFLICT.`, {
    ...keyedAnswer,
    ...retryAfter,
  }),
  422: refusal(
    `${open} this Idempotency-Key was used for another search; code UNPROCESSABLE_CONTENT.`,
  ),
  502: refusal(`${open} an upstream answered nonsense; code BAD_GATEWAY, not charged.`),
  504: refusal(`${open} the search took too long; code GATEWAY_TIMEOUT, not charged.`),
  ...refusals,
}

/** What a question about usage can be answered with. */
export const usageAnswers = {
  200: {
    description: `${open} what the account of the key used.`,
    content: json(usageResponse),
    headers: keyedAnswer,
  },
  ...refusals,
}

/** The ways to send a key. */
export const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer' },
  parameter: { type: 'apiKey', in: 'query', name: 'api_key' },
} as const

/** The head of the OpenAPI document. */
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
