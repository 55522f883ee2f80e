// Read access to an archive, and the addresses of archives.

import { callerPath, type Environment } from '../../base/config.ts'
import { Misuse } from '../../base/errors.ts'

/** A file of an archive, available locally. */
export interface FetchedFile {
  readonly path: string
  /** To be called after reading it. */
  readonly done: () => Promise<void>
}

/** Read access to an archive; files are named by their relative paths. */
export interface ArchivePlace {
  /** Address as typed and stored. */
  readonly address: string
  /** Name of a file in messages. */
  where(name: string): string
  /** Reads a small file; null if there is none. */
  readText(name: string): Promise<string | null>
  /** Lists the names in one of its folders. */
  list(folder: string): Promise<readonly string[]>
  fetch(name: string): Promise<FetchedFile>
}

/** A bucket, and the common prefix of an archive's objects in it. */
export interface BucketAddress {
  readonly bucket: string
  /** Empty, or ends with a slash. */
  readonly prefix: string
}

const bucketShape = /^s3:\/\/(?<bucket>[a-z\d][a-z\d.-]{1,61}[a-z\d])(?:\/(?<prefix>[^?#\s]*))?$/

/** Parses a typed address: a folder relative to the caller's, or a bucket. */
export function archiveAddress(env: Environment, typed: string): string {
  if (!/^[a-z\d+.-]+:\/\//i.test(typed)) return callerPath(env, typed)
  const found = readBucketAddress(typed.replace(/\/+$/, ''))
  // Rejects `.`, `..` and empty segments, because client and server may resolve them differently.
  if (found !== null && !/(?:^|\/)\.{0,2}\//.test(found.prefix)) return `s3://${nameOf(found)}`
  throw new Misuse(
    `expected a folder, or a bucket like s3://bucket/prefix, got ${JSON.stringify(typed)}`,
  )
}

function nameOf({ bucket, prefix }: BucketAddress): string {
  return `${bucket}/${prefix}`.replace(/\/$/, '')
}

/** Bucket of an address; null if it is a folder. */
export function readBucketAddress(address: string): BucketAddress | null {
  const { bucket, prefix = '' } = bucketShape.exec(address)?.groups ?? {}
  if (bucket === undefined) return null
  return { bucket, prefix: prefix === '' ? '' : `${prefix.replace(/\/$/, '')}/` }
}
