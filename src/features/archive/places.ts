// Opens archives for reading, in a folder or a bucket.

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, Misuse } from '../../base/errors.ts'
import type { BucketAccess } from '../../base/settings.ts'
import { BucketPlace } from './bucket.ts'
import { type ArchivePlace, type FetchedFile, readBucketAddress } from './place.ts'

/** Finds archives by address; opens each once. */
export function openPlaces(access: BucketAccess): (address: string) => ArchivePlace {
  const places = new Map<string, ArchivePlace>()
  return (address) => {
    const place = places.get(address) ?? openPlace(address, access)
    places.set(address, place)
    return place
  }
}

function openPlace(address: string, access: BucketAccess): ArchivePlace {
  const bucket = readBucketAddress(address)
  return bucket === null ? new FolderPlace(address) : new BucketPlace(bucket, access)
}

/** Archive in a local folder. */
export class FolderPlace implements ArchivePlace {
  readonly address: string

  constructor(path: string) {
    this.address = path
  }

  where(name: string): string {
    return join(this.address, name)
  }

  async readText(name: string): Promise<string | null> {
    const path = this.where(name)
    try {
      return await readFile(path, 'utf8')
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT') return null
      throw new Misuse(
        `expected ${path} to be a readable file, got ${codeOf(cause) ?? 'an error'}; fix that, then run the same command again`,
        { cause },
      )
    }
  }

  async list(folder: string): Promise<readonly string[]> {
    try {
      return await readdir(this.where(folder))
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT') return []
      throw cause
    }
  }

  // Read in place; the reader finds out if it is missing.
  async fetch(name: string): Promise<FetchedFile> {
    return { path: this.where(name), done: () => Promise.resolve() }
  }
}
