import { errorResponse, searchResponse } from './schemas.ts'

function refusal(description: string) {
  return { description, content: { 'application/json': { schema: errorResponse } } }
}

const open = 'Not in the specification:'

/** What a search can be answered with. The texts say where the specification leaves the behaviour open. */
export const responses = {
  200: {
    description: 'Search response.',
    content: { 'application/json': { schema: searchResponse } },
    headers: {
      'X-Ignored-Params': {
        description: `${open} names of parameters that were sent and had no effect.`,
        schema: { type: 'string' },
      },
      'X-Upstream-Partial': {
        description: `${open} there when some engines behind the answer failed.`,
        schema: { type: 'string' },
      },
    },
  },
  400: refusal(`${open} a parameter breaks its rule; code BAD_REQUEST, not charged.`),
  401: refusal('No API key supplied; code UNAUTHORIZED.'),
  402: refusal(`${open} not enough credits; code PAYMENT_REQUIRED.`),
  403: refusal('Key is invalid or revoked; code FORBIDDEN.'),
  429: refusal(`${open} too many requests in this second; code TOO_MANY_REQUESTS, Retry-After.`),
  500: refusal(`${open} a bug; code INTERNAL_SERVER_ERROR, refunded.`),
  502: refusal(`${open} an upstream answered nonsense; code BAD_GATEWAY, refunded.`),
  503: refusal(`${open} no upstream answered; code SERVICE_UNAVAILABLE, refunded.`),
  504: refusal(`${open} the search took too long; code GATEWAY_TIMEOUT, refunded.`),
} as const

/** The head of the OpenAPI document. */
export function openapiHead(baseUrl: string) {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Web Search Results Service',
      version: '1',
      description:
        'Structured web search results for a query. Sentences that begin with "Not in the specification" mark behaviour that the specification leaves open.',
    },
    servers: [{ url: baseUrl }],
  }
}
