// The service's error responses, in the format of section 2.4 of the specification.

import { STATUS_CODES } from 'node:http'
import { z } from '@hono/zod-openapi'
import { exits, MillError } from '../base/errors.ts'

/** Reasons and advice, for the OpenAPI document and the help pages. */
export const reasons = {
  400: 'A parameter is missing, repeated or invalid (the message names the parameter and its rule), or the request, including its body, is not valid HTTP.',
  401: 'No API key was sent, or the value sent is not a key. Send the key in the header.',
  402: 'Not enough credits. `X-Credits-Remaining` shows the remaining credits, and `X-Credits-Reset` the seconds until the plan renews.',
  403: 'The key is unknown, mistyped or revoked. Copy it again, or request a new key.',
  404: 'There is nothing at this address. The search is at `/v1/search`.',
  405: 'Only GET is supported.',
  408: 'The request took too long to arrive.',
  409: 'The first request with this `Idempotency-Key` is still in progress. Try again after the time in `Retry-After`.',
  413: 'The body is longer than 64 KB. No body is needed, because the parameters are in the address.',
  414: 'The address is longer than 16 KB.',
  417: 'The value of the `Expect` header is not supported.',
  422: 'This `Idempotency-Key` was used for another search. Use a new key.',
  429: 'Too many requests were sent within one second, too many searches are ahead of this one, or the remaining credits are reserved for requests in progress. Wait for the time in `Retry-After`.',
  431: 'The headers are too large.',
  500: 'A bug in the service.',
  502: 'A search engine behind the service sent an invalid answer. Try again later.',
  503: 'No search engine behind the service answered. Try again after the time in `Retry-After`.',
  504: 'The search took too long. Try again with fewer results.',
} as const

export type RefusalStatus = keyof typeof reasons

// Node still uses older names for these two statuses.
const phrases: Readonly<Record<number, string | undefined>> = {
  ...STATUS_CODES,
  413: 'Content Too Large',
  422: 'Unprocessable Content',
}

/** Spec gap 7: all codes are HTTP phrases in capitals, like the documented codes for 401 and 403. */
export function statusCode(status: RefusalStatus): string {
  return (phrases[status] ?? '').toUpperCase().replaceAll(' ', '_')
}

export function helpOf(status: number): string {
  return status === 401 || status === 403 ? 'authentication' : 'errors'
}

export const errorResponse = z
  .object({
    success: z.literal(false),
    error: z.object({
      code: z.string().describe('Machine-readable code.'),
      message: z.string().describe('Human-readable text.'),
      documentation: z.url().describe('Link to the help page for the error.'),
    }),
  })
  .openapi('ErrorResponse')

/** An error that is sent as a response. A refused request is never charged. */
export class Refusal extends MillError {
  override readonly exit = exits.failures
  readonly status: RefusalStatus
  readonly headers: Readonly<Record<string, string>>

  constructor(status: RefusalStatus, message: string, headers: Record<string, string> = {}) {
    super(message)
    this.status = status
    this.headers = headers
  }

  body(publicUrl: string): z.infer<typeof errorResponse> {
    const documentation = `${publicUrl}/docs/${helpOf(this.status)}`
    const error = { code: statusCode(this.status), message: this.message, documentation }
    return { success: false, error }
  }
}

export const clientLeft = new Refusal(503, 'The client disconnected; nothing was charged')
export const ourFault = new Refusal(500, 'Something went wrong on our side; nothing was charged')
export const tooLate = new Refusal(504, 'The search took too long; nothing was charged')
export const databaseAway = new Refusal(503, 'The database is not responding; try again', {
  'retry-after': '5',
})

export function refuseParams(checked: { success: boolean; error?: z.ZodError }): undefined {
  const [issue] = checked.error?.issues ?? []
  if (issue !== undefined) throw new Refusal(400, issue.message)
}
