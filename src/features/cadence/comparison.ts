// Compares the top ten results of two answers to a query.

import { dayMs, formatDate } from '../../base/time/zone.ts'

/** Top ten of a query's answer on one night. Nights are days since 1970-01-01: calendar dates, not instants. */
export interface FirstTen {
  readonly day: number
  /** Highest position in the answer; nothing is known below it. */
  readonly depth: number
  /** Pages at positions 1 to 10, best first, each represented by a number. */
  readonly pages: readonly number[]
}

/** Two consecutive answers to one query, with the number of pages that entered or left the top ten in between. */
export interface Comparison {
  readonly since: number
  readonly day: number
  readonly moves: number
}

const firsts = 10

/** Pages that entered or left the top ten, down to the depth of both answers; null if they can't be compared. */
export function movesBetween(
  before: FirstTen,
  after: FirstTen,
): { readonly entered: readonly number[]; readonly left: readonly number[] } | null {
  const places = Math.min(firsts, before.depth, after.depth)
  if (places < 1) return null
  // Usually nothing has changed.
  if (before.pages === after.pages) return { entered: [], left: [] }
  const old = reaching(before, places)
  const now = reaching(after, places)
  return {
    entered: now.filter((page, place) => !old.includes(page) && now.indexOf(page) === place),
    left: old.filter((page, place) => !now.includes(page) && old.indexOf(page) === place),
  }
}

function reaching({ pages }: FirstTen, places: number): readonly number[] {
  // Ten positions may contain eleven pages if two pages share a position.
  return places < firsts ? pages.slice(0, places) : pages
}

/** Compares two answers; null if they can't be compared. */
export function stepBetween(before: FirstTen, after: FirstTen): Comparison | null {
  const moves = movesBetween(before, after)
  if (moves === null) return null
  return { since: before.day, day: after.day, moves: moves.entered.length + moves.left.length }
}

export function dateOf(day: number): string {
  return formatDate(day * dayMs)
}

/** Unpacks answers from the database; consecutive ones with the same pages share an array. */
export function unpackFirstTens(packed: Buffer): readonly FirstTen[] {
  const firstTens: FirstTen[] = []
  let before = { from: 0, to: 0, pages: [] as readonly number[] }
  for (let at = 0; at < packed.length;) {
    const day = packed.readInt32BE(at)
    const depth = packed.readInt16BE(at + 4)
    const from = at + 8
    const to = from + 4 * packed.readInt16BE(at + 6)
    if (packed.compare(packed, from, to, before.from, before.to) !== 0) {
      before = { from, to, pages: unpackPages(packed, from, to) }
    }
    firstTens.push({ day, depth, pages: before.pages })
    at = to
  }
  return firstTens
}

function unpackPages(packed: Buffer, from: number, to: number): readonly number[] {
  const pages: number[] = []
  for (let at = from; at < to; at += 4) pages.push(packed.readInt32BE(at))
  return pages
}
