// Texts of the OpenAPI document and of the help pages.

import { npmRun } from '../base/cli/commands.ts'
import { errorResponse, searchResponse, usageResponse } from './schemas.ts'

const open = 'Not in the specification:'

function header(description: string, type: 'string' | 'integer' = 'string') {
  return { description: `${open} ${description}`, schema: { type } } as const
}

const everyAnswer = {
  'X-Request-Id': header('id of this request, which is also in the log.'),
}

const keyedAnswer = {
  ...everyAnswer,
  'X-Credits-Used': header(
    'credits that this request used; for a repeated answer, what the original request used.',
    'integer',
  ),
  'X-Credits-Remaining': header('credits left.', 'integer'),
  'X-Credits-Reset': header(
    'seconds until the plan renews; absent if it does not renew.',
    'integer',
  ),
  'X-RateLimit-Limit': header('maximum requests per second.', 'integer'),
  'X-RateLimit-Remaining': header('requests left in this second.', 'integer'),
  'X-RateLimit-Reset': header('seconds until the next window.', 'integer'),
  'X-Idempotency-Window': header(
    'present with an Idempotency-Key: the seconds for which the same key returns the same answer.',
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
  400: refusal(`${open} a parameter is invalid; code BAD_REQUEST, not charged.`),
  401: refusal('No API key supplied; code UNAUTHORIZED.', {
    ...everyAnswer,
    'WWW-Authenticate': header('Bearer.'),
  }),
  403: refusal('Key is invalid or revoked; code FORBIDDEN.', everyAnswer),
  404: refusal(`${open} there is nothing at this address; code NOT_FOUND.`, everyAnswer),
  405: refusal(`${open} only GET is answered; code METHOD_NOT_ALLOWED.`, {
    ...everyAnswer,
    Allow: header('GET.'),
  }),
  408: refusal(`${open} the request took too long to arrive; code REQUEST_TIMEOUT.`, everyAnswer),
  413: refusal(`${open} the body is longer than 64 KB; code CONTENT_TOO_LARGE.`, everyAnswer),
  414: refusal(`${open} the address is longer than 16 KB; code URI_TOO_LONG.`, everyAnswer),
  417: refusal(
    `${open} the request expects something that is not offered; code EXPECTATION_FAILED.`,
    everyAnswer,
  ),
  429: refusal(
    `${open} too many requests in this second, too many searches ahead of this one for it to be answered in time, or the remaining credits are reserved for requests in progress; code TOO_MANY_REQUESTS, not charged.`,
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

/** Responses of a search. Their texts say where the specification leaves the behaviour open. */
export const searchAnswers = {
  200: {
    description: 'Search response.',
    content: json(searchResponse),
    headers: {
      ...keyedAnswer,
      'X-Ignored-Params': header('names of parameters that were sent and had no effect.'),
      'X-Upstream-Partial': header('present if some of the engines failed.'),
      'X-Idempotency-Replayed': header('present if the answer was sent before.'),
    },
  },
  402: refusal(`${open} not enough credits; code PAYMENT_REQUIRED.`),
  409: refusal(
    `${open} the first request with this Idempotency-Key is still in progress; code CONFLICT.`,
    {
      ...keyedAnswer,
      ...retryAfter,
    },
  ),
  422: refusal(
    `${open} this Idempotency-Key was used for another search; code UNPROCESSABLE_CONTENT.`,
  ),
  502: refusal(`${open} an upstream sent an invalid answer; code BAD_GATEWAY, not charged.`),
  504: refusal(`${open} the search took too long; code GATEWAY_TIMEOUT, not charged.`),
  ...refusals,
}

/** Responses of a usage request. */
export const usageAnswers = {
  200: {
    description: `${open} the usage of the key's account.`,
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

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>body{max-width:44rem;margin:3rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif}td,th{text-align:left;padding:.2rem 1rem .2rem 0;vertical-align:top}code{background:#eee;color:#111;padding:0 .2rem}</style>
<h1>${title}</h1>
${body}
</html>
`
}

/** The page at the base address. */
export function frontPage(path: string): string {
  return page(
    'Web Search Results Service',
    `<p>One endpoint: <code>GET ${path}/v1/search?q=…</code> with a key in the header <code>Authorization: Bearer API_KEY</code>.</p>
<ul>
<li><a href="${path}/docs/authentication">Authentication</a></li>
<li><a href="${path}/docs/errors">Errors</a></li>
<li><a href="${path}/openapi.json">Description as OpenAPI</a></li>
<li><a href="${path}/dashboard">Dashboard</a></li>
</ul>`,
  )
}

/** The page that errors 401 and 403 link to. */
export const keyPage = page(
  'Authentication',
  `<p>Every request needs an API key. Send it in the header <code>Authorization: Bearer API_KEY</code>,
or, less securely, as the parameter <code>api_key</code>. When both are sent, the header counts.</p>
<table>
<tr><th>Key</th><th>Begins with</th><th>What it does</th></tr>
<tr><td>Live</td><td><code>sk_live_</code></td><td>Finds real pages and uses credits of its plan.</td></tr>
<tr><td>Test</td><td><code>sk_test_</code></td><td>Answers with invented data, free of charge.</td></tr>
</table>
<table>
<tr><th>Status</th><th>Code</th><th>Why, and what to do</th></tr>
<tr><td>401</td><td><code>UNAUTHORIZED</code></td><td>No key was sent, or nothing that can be read as one. Send it in the header.</td></tr>
<tr><td>403</td><td><code>FORBIDDEN</code></td><td>The key is unknown, mistyped or revoked. Copy it again, or have a new one issued.</td></tr>
</table>
<p>Keep keys in environment variables, never in code or in pages. To change a key, have a second one
issued on the same account, use it everywhere, then revoke the first: both are valid meanwhile.
The dashboard, <code>GET /v1/usage</code> and <code>${npmRun('keys --')} usage</code> show what each key used on each day.</p>`,
)

/** The page that every other error links to. */
export const errorPage = page(
  'Errors',
  `<p>Every error has the same shape. A request that was refused or that failed is never charged.
To ask about one, name the <code>X-Request-Id</code> of its answer.</p>
<table>
<tr><th>Status</th><th>Code</th><th>Why, and what to do</th></tr>
<tr><td>400</td><td><code>BAD_REQUEST</code></td><td>A parameter is missing, repeated or breaks its rule: the message names both. Or the request, its body included, is no HTTP.</td></tr>
<tr><td>402</td><td><code>PAYMENT_REQUIRED</code></td><td>Not enough credits. <code>X-Credits-Remaining</code> tells how many are left, <code>X-Credits-Reset</code> in how many seconds the plan renews.</td></tr>
<tr><td>404</td><td><code>NOT_FOUND</code></td><td>Nothing lives there. The search lives at <code>/v1/search</code>.</td></tr>
<tr><td>405</td><td><code>METHOD_NOT_ALLOWED</code></td><td>Only GET is answered.</td></tr>
<tr><td>408</td><td><code>REQUEST_TIMEOUT</code></td><td>The request took too long to arrive.</td></tr>
<tr><td>409</td><td><code>CONFLICT</code></td><td>The first request with this <code>Idempotency-Key</code> is still in work. Ask again as <code>Retry-After</code> says.</td></tr>
<tr><td>413</td><td><code>CONTENT_TOO_LARGE</code></td><td>The body is longer than 64 KB. None is needed: parameters stand in the address.</td></tr>
<tr><td>414</td><td><code>URI_TOO_LONG</code></td><td>The address is longer than 16 KB.</td></tr>
<tr><td>417</td><td><code>EXPECTATION_FAILED</code></td><td>The request expects something that is not offered.</td></tr>
<tr><td>422</td><td><code>UNPROCESSABLE_CONTENT</code></td><td>This <code>Idempotency-Key</code> was used for another search. Take a new one.</td></tr>
<tr><td>429</td><td><code>TOO_MANY_REQUESTS</code></td><td>Too many requests in this second, too many searches before this one for it to be answered in time, or the credits that are left are set aside for requests in work. Nothing is charged. Wait as long as <code>Retry-After</code> says.</td></tr>
<tr><td>431</td><td><code>REQUEST_HEADER_FIELDS_TOO_LARGE</code></td><td>The headers are too large.</td></tr>
<tr><td>500</td><td><code>INTERNAL_SERVER_ERROR</code></td><td>A bug of ours.</td></tr>
<tr><td>502</td><td><code>BAD_GATEWAY</code></td><td>A search engine behind us answered nonsense. Try again later.</td></tr>
<tr><td>503</td><td><code>SERVICE_UNAVAILABLE</code></td><td>No search engine behind us answered. Try again as <code>Retry-After</code> says.</td></tr>
<tr><td>504</td><td><code>GATEWAY_TIMEOUT</code></td><td>The search took too long. Try again, with fewer results.</td></tr>
</table>`,
)
