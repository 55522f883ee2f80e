import { codeOf, MillError, Misuse, reasonOf } from '../../../shared/errors.ts'

/** What can be wrong with a place on a disk, and what helps, beside another place. */
const reasons: Readonly<Record<string, readonly [got: string, help: string]>> = {
  EACCES: ['one that may not be written', 'change its permissions, or '],
  EPERM: ['one that may not be written', 'change its permissions, or '],
  EROFS: ['a file system that may only be read', ''],
  ENOSPC: ['no room left', 'make some, or '],
  EDQUOT: ['no room left', 'make some, or '],
  ENOTDIR: ['a path through something that is no folder', ''],
  ENOENT: ['nothing there', 'make it, or '],
  EEXIST: ['something else there', ''],
}

/** True: not a bucket, but a disk of this machine. */
export function isOfDisk(cause: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'ENOENT'].includes(codeOf(cause) ?? '')
}

/** What to say of a place on a disk that could not be written; `instead` is how another one is named. */
export function unwritable(
  path: string,
  cause: unknown,
  instead: 'name another folder' | 'set TMPDIR to another folder',
): unknown {
  const code = codeOf(cause) ?? saidOf(cause)
  if (code === null || cause instanceof MillError) return cause
  const [got, help] = reasons[code] ?? [code, '']
  return new Misuse(
    `expected ${path} to be a place that can be written, got ${got}; ${help}${instead}`,
    { cause },
  )
}

/** DuckDB tells what the system said, in words alone. */
function saidOf(cause: unknown): string | null {
  return /No space left|Disk quota/i.test(reasonOf(cause)) ? 'ENOSPC' : null
}
