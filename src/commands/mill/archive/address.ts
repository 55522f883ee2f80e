import { callerPath, type Environment } from '../../../shared/config.ts'
import { Misuse } from '../../../shared/errors.ts'

/** A bucket, and what all names of an archive in it begin with. */
export interface BucketAddress {
  readonly bucket: string
  /** Empty, or with a slash at its end. */
  readonly prefix: string
}

const bucketShape = /^s3:\/\/(?<bucket>[a-z\d][a-z\d.-]{1,61}[a-z\d])(?:\/(?<prefix>[^?#\s]*))?$/

/** Where an archive lies, as it was typed: a folder as seen from where the person stood, or a bucket. */
export function archiveAddress(env: Environment, typed: string): string {
  if (!/^[a-z\d+.-]+:\/\//i.test(typed)) return callerPath(env, typed)
  const found = readBucketAddress(typed.replace(/\/+$/, ''))
  // Two names for one object, or none: a client and a server need not agree on which.
  if (found !== null && !/(?:^|\/)\.{0,2}\//.test(found.prefix)) return `s3://${nameOf(found)}`
  throw new Misuse(
    `expected a folder, or a bucket like s3://bucket/prefix, got ${JSON.stringify(typed)}`,
  )
}

function nameOf({ bucket, prefix }: BucketAddress): string {
  return `${bucket}/${prefix}`.replace(/\/$/, '')
}

/** The bucket that an address leads to; null: it is a folder. */
export function readBucketAddress(address: string): BucketAddress | null {
  const { bucket, prefix = '' } = bucketShape.exec(address)?.groups ?? {}
  if (bucket === undefined) return null
  return { bucket, prefix: prefix === '' ? '' : `${prefix.replace(/\/$/, '')}/` }
}
