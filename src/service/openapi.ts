// Responses and texts for the OpenAPI document.

import { errorResponse, reasons, type RefusalStatus, statusCode } from './refusal.ts'
import { searchResponse, usageResponse } from './schemas.ts'

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
      'credits that this request used; for a repeated answer, what the original request used.',
    'X-Credits-Remaining': 'credits left.',
    'X-Credits-Reset': 'seconds until the plan renews; absent if it does not renew.',
    'X-RateLimit-Limit': 'maximum requests per second; absent if there is none.',
    'X-RateLimit-Remaining': 'requests left in this second.',
    'X-RateLimit-Reset': 'seconds until the next window.',
    'X-Idempotency-Window':
      'the seconds for which the same Idempotency-Key returns the same answer.',
  }),
}

const waitingHeaders = {
  ...keyedHeaders,
  ...describeHeaders('integer', { 'Retry-After': 'seconds to wait.' }),
}

function json<Schema>(schema: Schema) {
  return { 'application/json': { schema } }
}

function refusals<Status extends RefusalStatus>(these: readonly Status[], headers = everyHeader) {
  const describe = (status: Status) => {
    const specified = status === 401 || status === 403
    const description = `${specified ? '' : `${open} `}${reasons[status]} Code ${statusCode(status)}; nothing is charged.`
    return { description, headers, content: json(errorResponse) }
  }
  return Object.fromEntries(these.map((status) => [status, describe(status)])) as Record<
    Status,
    ReturnType<typeof describe>
  >
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
    content: json(searchResponse),
    headers: {
      ...keyedHeaders,
      ...describeHeaders('string', {
        'X-Ignored-Params': 'names of parameters that were sent and had no effect.',
        'X-Upstream-Partial': 'present if some of the engines failed.',
        'X-Idempotency-Replayed': 'present if the answer was sent before.',
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
    content: json(usageResponse),
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
