import { exits, MillError } from '../base/errors.ts'

// Spec gap 7: only 401 and 403 are given; the other codes continue their style, the HTTP phrase in capitals.
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

/** An answer that is no result: told to the client in the shape of section 2.4, and never charged. */
export class Refusal extends MillError {
  override readonly exit = exits.failures
  readonly status: RefusalStatus
  readonly headers: Readonly<Record<string, string>>

  constructor(status: RefusalStatus, message: string, headers: Record<string, string> = {}) {
    super(message)
    this.status = status
    this.headers = headers
  }

  /** The body, with a link to the page that explains it. */
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

/** No key, or one that cannot be read as one. */
export function missingKey(): Refusal {
  return new Refusal(401, 'Invalid or missing API key', { 'www-authenticate': 'Bearer' })
}

/** One message for unknown, mistyped and revoked keys: a guesser learns nothing from it. */
export function refusedKey(): Refusal {
  return new Refusal(403, 'API key is invalid or has been revoked')
}

/** The client has gone away: nobody reads this, and the work for it ends. */
export function clientLeft(): Refusal {
  return new Refusal(503, 'The client has gone away; nothing was charged')
}

/** What becomes of parameters that break their rules: the first problem is named. */
export function refuseParams(result: {
  readonly success: boolean
  readonly error?: { readonly issues: readonly { readonly message: string }[] }
}): undefined {
  if (result.success) return undefined
  throw new Refusal(400, result.error?.issues[0]?.message ?? 'The parameters are not valid')
}
