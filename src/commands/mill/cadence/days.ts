import { dayMs } from '../../../shared/time/duration.ts'
import { formatDate } from '../../../shared/time/zone.ts'
import type { FirstTen } from './sight.ts'

/** The date of a day that is counted from 1970-01-01. */
export function dateOf(day: number): string {
  return formatDate(day * dayMs)
}

/** Answers as the tables hand them over. */
export function unpackSights(packed: Buffer): readonly FirstTen[] {
  const sights: FirstTen[] = []
  for (let at = 0; at < packed.length;) {
    const day = packed.readInt32BE(at)
    const depth = packed.readInt16BE(at + 4)
    const count = packed.readInt16BE(at + 6)
    at += 8
    const pages = Array.from({ length: count }, (_, nth) => packed.readInt32BE(at + 4 * nth))
    at += 4 * count
    sights.push({ day, depth, pages })
  }
  return sights
}
