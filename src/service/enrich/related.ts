import { stem, stopWords } from './words.ts'

const most = 8
// What a page is, not what it is about.
const fillers = new Set(
  'tutorial tutorials article articles guide information official website site blog post introduction introducing detailed google developers wikipedia mozilla demo demos repository home page project'.split(
    ' ',
  ),
)

/** What related searches are made of, best source first. */
export interface Sources {
  readonly suggestions: readonly string[]
  /** Queries of other people that resemble this one. */
  readonly asked: readonly string[]
  /** Titles of further pages. */
  readonly titles: readonly string[]
  readonly clusters: readonly string[]
}

/** Queries that lead on from this one; never the query itself, never twice the same. */
export function relateSearches(q: string, sources: Sources): string[] {
  const own = subject(q)
  const found = new Map<string, string>()
  const add = (text: string) => {
    const words = subject(text)
    const key = words.toSorted().join(' ')
    if (key === '' || key === own.toSorted().join(' ') || found.has(key)) return
    found.set(key, text.toLowerCase())
  }
  sources.suggestions.forEach(add)
  sources.asked.forEach(add)
  for (const title of sources.titles) if (leadsOn(own, title)) add(headOf(title))
  for (const label of sources.clusters) {
    const words = subject(label)
    if (words.some((word) => own.includes(word))) add(label)
    // A long question with a label behind it is nothing that anybody types.
    else if (words.length > 0 && own.length <= 3) add(`${q.trim()} ${label}`)
  }
  return [...found.values()].slice(0, most)
}

/** A title leads on when it is about the same, says more, and is short enough to be typed. */
function leadsOn(own: readonly string[], title: string): boolean {
  if (!/^[\p{L}\p{N} '-]+$/u.test(headOf(title))) return false
  const words = subject(title)
  const shared = own.filter((word) => words.includes(word)).length
  return words.length >= 2 && words.length <= 6 && shared > 0 && shared * 2 >= own.length
}

/** The part of a title before the name of its site. */
function headOf(title: string): string {
  return title.split(/ [-|–—] /)[0]?.trim() ?? title
}

function subject(text: string): string[] {
  const words =
    headOf(text)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  return words.filter((word) => !stopWords.has(word) && !fillers.has(word)).map(stem)
}
