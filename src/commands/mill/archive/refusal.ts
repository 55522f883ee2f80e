import { codeOf, MillError, reasonOf, Unreachable } from '../../../shared/errors.ts'
import { isOfDisk } from './disk.ts'

interface Answered {
  readonly name: string
  readonly message: string
  readonly status: number | undefined
}

/** True: the bucket is there, and holds nothing of that name. */
export function isAbsent(cause: unknown): boolean {
  return answered(cause)?.name === 'NoSuchKey'
}

/** What a bucket refused, or why it was not reached, with what to do about it. */
export function refusal(what: string, cause: unknown): unknown {
  const got = answered(cause)
  if (cause instanceof MillError || got === null) return cause
  const said = [got.name, got.status === undefined ? '' : `(${got.status})`]
  const words = got.message === got.name ? '' : `: ${got.message.slice(0, 200)}`
  return new Unreachable(
    `expected to ${what}, got ${said.filter(Boolean).join(' ')}${words}; ${remedy(got)}`,
    { cause },
  )
}

/** What the client of buckets threw; null for what is no matter of buckets. */
function answered(cause: unknown): Answered | null {
  if (!(cause instanceof Error)) return null
  const metadata = '$metadata' in cause ? Object(cause.$metadata) : null
  const known =
    metadata !== null || codeOf(cause) !== null || cause.name === 'CredentialsProviderError'
  const region = cause.message === 'Region is missing'
  if (isOfDisk(cause) || !(known || region)) return null
  const status = Number(Object(metadata).httpStatusCode)
  const name = cause.name === 'Error' ? (codeOf(cause) ?? reasonOf(cause)) : cause.name
  return { name, message: reasonOf(cause), status: Number.isNaN(status) ? undefined : status }
}

function remedy({ name, message, status }: Answered): string {
  if (name === 'CredentialsProviderError') return 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
  if (message === 'Region is missing') return 'set AWS_REGION'
  if (name === 'NoSuchBucket') return 'make the bucket, or name another one'
  if (status === 301 || name === 'AuthorizationHeaderMalformed') {
    return 'set AWS_REGION to where the bucket lies'
  }
  if (status === 401 || status === 403) {
    return 'check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what this key may do'
  }
  return 'nothing is lost, type the same again when it is back'
}
