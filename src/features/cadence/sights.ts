// What is seen of a query on a night.

import { dayMs, formatDate } from '../../base/time/zone.ts'

/** The first ten of a query's answer on one night. Nights are days since 1970-01-01: dates of the calendar, no instants. */
export interface FirstTen {
  readonly day: number
  /** Greatest position in the answer: below it nothing is known. */
  readonly depth: number
  /** Pages that stood at 1 to 10, best first, each as a number of its own. */
  readonly pages: readonly number[]
}

/** Two answers to one query, one after the other, and how many pages came into the first ten or left them between. */
export interface Comparison {
  readonly since: number
  readonly day: number
  readonly moves: number
}

const firsts = 10

/** Pages that entered or left the first ten, as far down as both answers reach; null: they cannot be compared. */
export function movesBetween(
  before: FirstTen,
  after: FirstTen,
): { readonly entered: readonly number[]; readonly left: readonly number[] } | null {
  const places = Math.min(firsts, before.depth, after.depth)
  if (places < 1) return null
  // Mostly nothing has changed.
  if (before.pages === after.pages) return { entered: [], left: [] }
  const old = reaching(before, places)
  const now = reaching(after, places)
  return {
    entered: now.filter((page, place) => !old.includes(page) && now.indexOf(page) === place),
    left: old.filter((page, place) => !now.includes(page) && old.indexOf(page) === place),
  }
}

function reaching({ pages }: FirstTen, places: number): readonly number[] {
  // Ten places may hold eleven pages, two of them sharing one.
  return places < firsts ? pages.slice(0, places) : pages
}

/** What two answers come to; null: they cannot be compared. */
export function stepBetween(before: FirstTen, after: FirstTen): Comparison | null {
  const moves = movesBetween(before, after)
  if (moves === null) return null
  return { since: before.day, day: after.day, moves: moves.entered.length + moves.left.length }
}

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

/** Two queries are twins after so many equal answers in a row, over so many nights at least. */
const enough = { answers: 5, nights: 10 }
/** An answer that was older than this when it stood beside another tells nothing for the two. */
const oldestNights = 7
/** Of queries with the same first ten so many are tried: the others show the same as these. */
const mostTried = 5

/** A query with what it was answered lately, the oldest first. */
export interface WatchedQuery {
  readonly id: string
  readonly sights: readonly FirstTen[]
}

/** The query whose answer may be lent to another, and how many answers of that one were equal to it, one after the other. */
export interface Lender {
  readonly id: string
  readonly equal: number
}

/** Pages that an answer has in its first ten and another has not, both ways; null: they cannot be compared. */
export function differencesBetween(lent: FirstTen, own: FirstTen): number | null {
  if (reach(lent) !== reach(own)) return null
  const moves = movesBetween(lent, own)
  return moves === null ? null : moves.entered.length + moves.left.length
}

function reach({ depth }: FirstTen): number {
  return Math.min(10, depth)
}

/** The newest answer of a day or of one before it: what would be lent on that day. */
export function sightOn(sights: readonly FirstTen[], day: number): FirstTen | null {
  let from = 0
  let to = sights.length
  while (from < to) {
    const middle = (from + to) >> 1
    if ((sights[middle]?.day ?? Infinity) <= day) from = middle + 1
    else to = middle
  }
  return sights[from - 1] ?? null
}

/**
 * Finds for queries another one whose answers have been the same for long, up to the newest answer of both. Who lends is
 * not lent to. Those that are asked most lend, so that it stays with one from night to night.
 */
export function findLenders(queries: readonly WatchedQuery[]): ReadonlyMap<string, Lender> {
  const inOrder = queries
    .filter(({ sights }) => sights.length > 0)
    .toSorted((a, b) => b.sights.length - a.sights.length || (a.id < b.id ? -1 : 1))
  const shelves = new Shelves(inOrder)
  const found = new Map<string, Lender>()
  const own = new Set<string>()
  for (const query of inOrder) {
    const lender = shelves
      .beside(query)
      .filter(({ id }) => own.has(id))
      .slice(0, mostTried)
      .map((other) => ({ id: other.id, equal: equalAnswers(query, other) }))
      .find(({ equal }) => equal > 0)
    if (lender === undefined) own.add(query.id)
    else found.set(query.id, lender)
  }
  return found
}

/** How many of the newest answers of a query were equal to what the other would have lent; 0: too few for twins. */
function equalAnswers({ sights }: WatchedQuery, other: WatchedQuery): number {
  const last = sights.at(-1)
  // An answer that is older than one's own is nothing to borrow.
  if (last === undefined || (other.sights.at(-1)?.day ?? -Infinity) < last.day) return 0
  let equal = 0
  let since = last.day
  for (const sight of sights.toReversed()) {
    const lent = sightOn(other.sights, sight.day)
    if (lent === null || differencesBetween(lent, sight) !== 0) break
    if (sight.day - lent.day > oldestNights) continue
    equal += 1
    since = sight.day
  }
  return equal >= enough.answers && last.day - since >= enough.nights ? equal : 0
}

/** Queries by what they showed on a day: looked up by the day of a newest answer, of which there are few. */
class Shelves {
  readonly #queries: readonly WatchedQuery[]
  readonly #days = new Map<number, ReadonlyMap<number, readonly WatchedQuery[]>>()
  readonly #marks = new Map<FirstTen, number>()

  constructor(queries: readonly WatchedQuery[]) {
    this.#queries = queries
  }

  /** Queries that showed the same first ten when this one was answered last, or what looks like them. */
  beside({ id, sights }: WatchedQuery): readonly WatchedQuery[] {
    const last = sights.at(-1)
    if (last === undefined) return []
    return (this.#on(last.day).get(this.#markOf(last)) ?? []).filter((one) => one.id !== id)
  }

  #on(day: number): ReadonlyMap<number, readonly WatchedQuery[]> {
    const known = this.#days.get(day)
    if (known !== undefined) return known
    const marked = new Map<number, WatchedQuery[]>()
    for (const query of this.#queries) {
      const sight = sightOn(query.sights, day)
      if (sight === null || day - sight.day > oldestNights) continue
      const mark = this.#markOf(sight)
      const there = marked.get(mark)
      if (there === undefined) marked.set(mark, [query])
      else there.push(query)
    }
    this.#days.set(day, marked)
    return marked
  }

  /** The same for answers with the same pages in whatever order; now and then for others too, which are compared then. */
  #markOf(sight: FirstTen): number {
    const known = this.#marks.get(sight)
    if (known !== undefined) return known
    const mark = [...new Set(sight.pages)].reduce((sum, page) => sum + page, reach(sight))
    this.#marks.set(sight, mark)
    return mark
  }
}
