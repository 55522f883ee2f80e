import { join } from 'node:path'
import { readBucketAddress } from '../mill/archive/address.ts'
import { BucketPlace } from '../mill/archive/bucket.ts'
import type { Mill } from '../mill/mill.ts'
import { ArchiveFolder } from './folder.ts'
import type { ArchiveTarget } from './target.ts'
import { ArchiveUpload } from './upload.ts'

/** Finds what an archive is written to by its address; each is opened once. */
export function openTargets(mill: Pick<Mill, 'config' | 'installation'>) {
  const targets = new Map<string, ArchiveTarget>()
  return (address: string): ArchiveTarget => {
    const target = targets.get(address) ?? openTarget(address, mill)
    targets.set(address, target)
    return target
  }
}

function openTarget(
  address: string,
  { config, installation }: Pick<Mill, 'config' | 'installation'>,
): ArchiveTarget {
  const bucket = readBucketAddress(address)
  if (bucket === null) return new ArchiveFolder(address)
  // Whoever holds the archive of a database is alone in there.
  const folder = join(config.home, 'archive', installation)
  return new ArchiveUpload(new BucketPlace(bucket, config.bucket), folder)
}
