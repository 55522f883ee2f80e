import { dayMs } from '../../../shared/time/duration.ts'
import { formatDate } from '../../../shared/time/zone.ts'
import type { FirstTen } from './sight.ts'

/** The date of a day that is counted from 1970-01-01. */
export function dateOf(day: number): string {
  return formatDate(day * dayMs)
}

/** Answers as the tables hand them over; those that show the same pages, one after the other, share them. */
export function unpackSights(packed: Buffer): readonly FirstTen[] {
  const sights: FirstTen[] = []
  let before = { from: 0, to: 0, pages: [] as readonly number[] }
  for (let at = 0; at < packed.length;) {
    const day = packed.readInt32BE(at)
    const depth = packed.readInt16BE(at + 4)
    const from = at + 8
    const to = from + 4 * packed.readInt16BE(at + 6)
    if (packed.compare(packed, from, to, before.from, before.to) !== 0) {
      before = { from, to, pages: unpackPages(packed, from, to) }
    }
    sights.push({ day, depth, pages: before.pages })
    at = to
  }
  return sights
}

function unpackPages(packed: Buffer, from: number, to: number): readonly number[] {
  const pages: number[] = []
  for (let at = from; at < to; at += 4) pages.push(packed.readInt32BE(at))
  return pages
}
