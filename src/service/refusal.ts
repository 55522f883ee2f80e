// Error responses of the service, in the format of section 2.4.

import { exits, MillError } from '../base/errors.ts'

// Spec gap 7: only 401 and 403 are given; the other codes follow their style, the HTTP phrase in capitals.
const codes = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  402: 'PAYMENT_REQUIRED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  408: 'REQUEST_TIMEOUT',
  409: 'CONFLICT',
  413: 'CONTENT_TOO_LARGE',
  414: 'URI_TOO_LONG',
  417: 'EXPECTATION_FAILED',
  422: 'UNPROCESSABLE_CONTENT',
  429: 'TOO_MANY_REQUESTS',
  431: 'REQUEST_HEADER_FIELDS_TOO_LARGE',
  500: 'INTERNAL_SERVER_ERROR',
  502: 'BAD_GATEWAY',
  503: 'SERVICE_UNAVAILABLE',
  504: 'GATEWAY_TIMEOUT',
} as const

type RefusalStatus = keyof typeof codes

/** An error response, which is never charged. */
export class Refusal extends MillError {
  override readonly exit = exits.failures
  readonly status: RefusalStatus
  readonly headers: Readonly<Record<string, string>>

  constructor(status: RefusalStatus, message: string, headers: Record<string, string> = {}) {
    super(message)
    this.status = status
    this.headers = headers
  }

  /** The body, with a link to the help page. */
  body(docsUrl: string): RefusalBody {
    const page = this.status === 401 || this.status === 403 ? 'authentication' : 'errors'
    return {
      success: false,
      error: {
        code: codes[this.status],
        message: this.message,
        documentation: `${docsUrl}/${page}`,
      },
    }
  }
}

interface RefusalBody {
  readonly success: false
  readonly error: {
    readonly code: string
    readonly message: string
    readonly documentation: string
  }
}

/** For a request without a key, or with one in the wrong format. */
export function missingKey(): Refusal {
  return new Refusal(401, 'Invalid or missing API key', { 'www-authenticate': 'Bearer' })
}

/** One message for unknown, mistyped and revoked keys: a guesser learns nothing from it. */
export function refusedKey(): Refusal {
  return new Refusal(403, 'API key is invalid or has been revoked')
}

/** Ends the work for a client that has disconnected; nobody reads this response. */
export function clientLeft(): Refusal {
  return new Refusal(503, 'The client disconnected; nothing was charged')
}

/** Refuses parameters that break their rules, and names the first problem. */
export function refuseParams(result: {
  readonly success: boolean
  readonly error?: { readonly issues: readonly { readonly message: string }[] }
}): undefined {
  if (result.success) return undefined
  throw new Refusal(400, result.error?.issues[0]?.message ?? 'The parameters are not valid')
}
