import { rm } from 'node:fs/promises'
import { Unreachable } from '../../shared/errors.ts'
import type { BucketPlace } from '../mill/archive/bucket.ts'
import { ArchiveTarget } from './target.ts'

/** A bucket of the archive; its drafts lie in a folder that nobody else uses meanwhile. */
export class ArchiveUpload extends ArchiveTarget {
  override readonly place: BucketPlace

  constructor(bucket: BucketPlace, folder: string) {
    super(folder)
    this.place = bucket
  }

  /** Clears away what an archive left here that was killed. */
  override async claim(installation: string): Promise<void> {
    await this.close()
    await super.claim(installation)
  }

  override async publish(): Promise<void> {
    for (const [name, draft] of this.drafted) {
      await this.place.put(name, draft)
      await rm(draft, { force: true })
      this.drafted.delete(name)
    }
  }

  /** Fetched anew, since what a line or a bucket made of a file is not what was sent. */
  override async confirm(
    files: readonly { readonly path: string; readonly sha256: string }[],
  ): Promise<void> {
    for (const { path, sha256 } of files) {
      const found = await this.place.hash(path)
      if (found === sha256) continue
      throw new Unreachable(
        `expected ${this.place.where(path)} to hold what was put there (sha256 ${sha256}), got ${found}; no row was removed, type the same again`,
      )
    }
  }

  override async remove(names: readonly string[]): Promise<void> {
    for (const name of names) await this.place.remove(name)
  }

  override async close(): Promise<void> {
    await this.doing(this.path, () => rm(this.path, { recursive: true, force: true }))
  }
}
