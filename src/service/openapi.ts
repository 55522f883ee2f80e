// Texts of the OpenAPI document and of the help pages.

import { npmRun } from '../base/cli/commands.ts'
import { errorResponse, reasons, type RefusalStatus, statusCode } from './refusal.ts'
import { searchResponse, usageResponse } from './schemas.ts'

const open = 'Not in the specification:'

type Headers = Readonly<Record<string, ReturnType<typeof header>>>

function header(description: string, type: 'string' | 'integer' = 'string') {
  return { description: `${open} ${description}`, schema: { type } } as const
}

function count(description: string) {
  return header(description, 'integer')
}

const everyAnswer: Headers = {
  'X-Request-Id': header('id of this request, which is also in the log.'),
}

const keyedAnswer: Headers = {
  ...everyAnswer,
  'X-Credits-Used': count(
    'credits that this request used; for a repeated answer, what the original request used.',
  ),
  'X-Credits-Remaining': count('credits left.'),
  'X-Credits-Reset': count('seconds until the plan renews; absent if it does not renew.'),
  'X-RateLimit-Limit': count('maximum requests per second; absent if there is none.'),
  'X-RateLimit-Remaining': count('requests left in this second.'),
  'X-RateLimit-Reset': count('seconds until the next window.'),
  'X-Idempotency-Window': count(
    'the seconds for which the same Idempotency-Key returns the same answer.',
  ),
}

const waitingAnswer: Headers = { ...keyedAnswer, 'Retry-After': count('seconds to wait.') }

function json<Schema>(schema: Schema) {
  return { 'application/json': { schema } }
}

function refusals<Status extends RefusalStatus>(
  these: readonly Status[],
  headers: Headers = everyAnswer,
) {
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
  ...refusals([401], { ...everyAnswer, 'WWW-Authenticate': header('Bearer.') }),
  ...refusals([405], { ...everyAnswer, Allow: header('GET.') }),
  ...refusals([400, 500], keyedAnswer),
  ...refusals([429, 503], waitingAnswer),
}

/** Responses to a search. Their descriptions say where the specification leaves the behaviour open. */
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
  ...refusals([402, 422, 502, 504], keyedAnswer),
  ...refusals([409], waitingAnswer),
  ...usualRefusals,
}

export const usageAnswers = {
  200: {
    description: `${open} the usage of the key's account.`,
    content: json(usageResponse),
    headers: keyedAnswer,
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

/**
 * The page at the base address. The links of this page are relative, because a proxy may add a prefix to the address.
 */
export const frontPage = page(
  'Web Search Results Service',
  `<p>One endpoint: <code>GET /v1/search?q=…</code> with a key in the header <code>Authorization: Bearer API_KEY</code>.</p>
<ul>
<li><a href="./docs/authentication">Authentication</a></li>
<li><a href="./docs/errors">Errors</a></li>
<li><a href="./openapi.json">Description as OpenAPI</a></li>
<li><a href="./dashboard">Dashboard</a></li>
</ul>`,
)

/** The help page that errors 401 and 403 link to. */
export const keyPage = page(
  'Authentication',
  `<p>Every request needs an API key. Send it in the header <code>Authorization: Bearer API_KEY</code>,
or, less securely, as the parameter <code>api_key</code>. When both are sent, the header counts.</p>
<table>
<tr><th>Key</th><th>Begins with</th><th>What it does</th></tr>
<tr><td>Live</td><td><code>sk_live_</code></td><td>Finds real pages and uses credits of its plan.</td></tr>
<tr><td>Test</td><td><code>sk_test_</code></td><td>Answers with invented data, free of charge.</td></tr>
</table>
${tableOf(401, 403)}
<p>Keep keys in environment variables, never in code or in pages. To change a key, have a second one
issued on the same account, use it everywhere, then revoke the first: both are valid meanwhile.
The dashboard, <code>GET /v1/usage</code> and <code>${npmRun('keys --')} usage</code> show what each key used on each day.</p>`,
)

const otherStatuses = Object.keys(reasons)
  .map((status) => Number(status) as RefusalStatus)
  .filter((status) => status !== 401 && status !== 403)

/** The help page that all other errors link to. */
export const errorPage = page(
  'Errors',
  `<p>Every error has the same shape. A request that was refused or that failed is never charged.
To ask about one, name the <code>X-Request-Id</code> of its answer.</p>
${tableOf(...otherStatuses)}`,
)

function tableOf(...shown: readonly RefusalStatus[]): string {
  const rows = shown.map((status) => {
    const reason = reasons[status].replaceAll(/`(.+?)`/g, '<code>$1</code>')
    return `<tr><td>${status}</td><td><code>${statusCode(status)}</code></td><td>${reason}</td></tr>`
  })
  return `<table>
<tr><th>Status</th><th>Code</th><th>Why, and what to do</th></tr>
${rows.join('\n')}
</table>`
}
