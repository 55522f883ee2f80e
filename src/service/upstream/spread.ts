/** What is needed of a page to tell whether it is one of many like it. */
interface Placed {
  readonly url: string
  readonly score: number
}

// What people look at first, and how many pages of one folder stand there: what a reader of results expects.
const [firstPlaces, eachFolder] = [10, 2]
// Another page goes first only where it fits nearly as well.
const nearly = 0.6

/**
 * Lets other pages into the first ten where one folder of one site fills them: versions of a specification, members of
 * an object. The pages after the first two keep their order. What comes out depends on these pages alone, so that every
 * page of an answer is a piece of the same list.
 */
export function spread<Page extends Placed>(pages: readonly Page[]): Page[] {
  const left = [...pages]
  const counts = new Map<string, number>()
  const first: Page[] = []
  while (first.length < firstPlaces && left.length > 0) {
    const [next] = left.splice(findNext(left, counts), 1)
    if (next === undefined) break
    const folder = folderOf(next.url)
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
    first.push(next)
  }
  return [...first, ...left]
}

function findNext(left: readonly Placed[], counts: ReadonlyMap<string, number>): number {
  const least = nearly * (left[0]?.score ?? 0)
  const other = left.findIndex(({ url }) => (counts.get(folderOf(url)) ?? 0) < eachFolder)
  return other > 0 && (left[other]?.score ?? 0) >= least ? other : 0
}

/** Host and path without its last part: where pages of one kind lie side by side. */
export function folderOf(url: string): string {
  const { host, pathname } = new URL(url)
  return host + pathname.replace(/\/+$/, '').replace(/\/[^/]*$/, '')
}
