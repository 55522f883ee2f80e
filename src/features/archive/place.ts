// A file of an archive, and the addresses that name it.

import { callerPath, type Environment } from '../../base/config.ts'
import { Misuse } from '../../base/errors.ts'

/** A file of an archive, as one of this machine. */
export interface FetchedFile {
  readonly path: string
  /** To be called when it was read. */
  readonly done: () => Promise<void>
}

/** Read access to an archive; files are named by their paths below it. */
export interface ArchivePlace {
  /** As it is typed and written down. */
  readonly address: string
  /** Name of a file in messages. */
  where(name: string): string
  /** A small file; null: it holds none of that name. */
  readText(name: string): Promise<string | null>
  /** Names in one of its folders. */
  list(folder: string): Promise<readonly string[]>
  fetch(name: string): Promise<FetchedFile>
}

/** A bucket, and what all names of an archive in it begin with. */
export interface BucketAddress {
  readonly bucket: string
  /** Empty, or with a slash at its end. */
  readonly prefix: string
}

const bucketShape = /^s3:\/\/(?<bucket>[a-z\d][a-z\d.-]{1,61}[a-z\d])(?:\/(?<prefix>[^?#\s]*))?$/

/** Reads a typed address: a folder relative to the caller's own, or a bucket. */
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
