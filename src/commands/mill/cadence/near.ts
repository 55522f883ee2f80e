/** Pages of the first ten that two queries share when what moves one is news of the other. */
const leastShared = 4
/** A page in more answers than these ties nothing together: a home page is everywhere. */
const mostAnswers = 50

/** A query with the pages of its first ten. */
export interface Shelf {
  readonly id: string
  readonly pages: readonly number[]
}

/** Finds, among some queries, those that show the same results as another: at least four pages of the first ten. */
export function openShelves(shelves: readonly Shelf[]): (shelf: Shelf) => readonly string[] {
  const holders = new Map<number, string[]>()
  for (const { id, pages } of shelves) {
    for (const page of new Set(pages)) {
      const there = holders.get(page)
      if (there === undefined) holders.set(page, [id])
      else there.push(id)
    }
  }
  return ({ id, pages }) => {
    const shared = new Map<string, number>()
    for (const page of new Set(pages)) {
      const there = holders.get(page) ?? []
      if (there.length > mostAnswers) continue
      for (const other of there) shared.set(other, (shared.get(other) ?? 0) + 1)
    }
    shared.delete(id)
    return [...shared].filter(([, count]) => count >= leastShared).map(([other]) => other)
  }
}
