import type { Environment } from '../../../shared/config.ts'
import { Misuse } from '../../../shared/errors.ts'
import { isDay } from '../../../shared/time/zone.ts'
import { archiveAddress } from './address.ts'
import type { AskedArchive } from './asked.ts'

interface ArchiveFlags {
  readonly withArchive?: true
  readonly archived?: string
  readonly archive?: string
}

/** Which part of the archive is to be read as well; undefined: nothing of it. */
export function archiveFlags(flags: ArchiveFlags, env: Environment): AskedArchive | undefined {
  const { withArchive, archived, archive } = flags
  if (withArchive !== true && archived === undefined) {
    if (archive === undefined) return undefined
    throw new Misuse('expected --with-archive beside --archive, got --archive alone; add it')
  }
  return {
    span: archived === undefined ? undefined : readDayRange('archived', archived),
    folder: archive === undefined ? undefined : archiveAddress(env, archive),
  }
}

/** A day, or all from one to another, as a flag names them. */
export function readDayRange(
  flag: string,
  typed: string,
): { readonly since: string; readonly until: string } {
  const [since = '', until = since, ...more] = typed.split('..')
  if (isDay(since) && isDay(until) && since <= until && more.length === 0) return { since, until }
  throw new Misuse(
    `expected --${flag} to name a day or two, as in 2026-01-01..2026-01-31, got ${JSON.stringify(typed)}`,
  )
}
