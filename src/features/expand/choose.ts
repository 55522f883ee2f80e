// Selects the related searches to add: new searches that pass the filters, most promising first.

import { Misuse, reasonOf } from '../../base/errors.ts'
import type { Query } from '../../base/query.ts'
import { checkText } from '../../core/lists/values.ts'
import type { RelatedQuery } from './statements.ts'

export interface SelectionRules {
  readonly wanted: TextFilter
  /** Existing queries. A related search that is similar to an existing query is not added. */
  readonly there: Iterable<Query>
  readonly scripts: ReadonlySet<string>
  readonly price: (query: Query) => number
  /** Maximum expected total cost of the selected related searches. */
  readonly credits: number
}

/** Number of related searches that were examined but not selected, by reason. */
type LeftOut = Record<'unwanted' | 'twins' | 'other_script' | 'unusable', number>

export type Chosen = Awaited<ReturnType<typeof choose>>

/** Selects candidates in the given order until the next candidate would exceed the credits. */
export async function choose(
  pages: AsyncIterable<readonly RelatedQuery[]>,
  choice: SelectionRules,
) {
  const leftOut: LeftOut = { unwanted: 0, twins: 0, other_script: 0, unusable: 0 }
  const known = new Set([...choice.there].map(likeness))
  const queries: RelatedQuery[] = []
  let looked = 0
  let credits = 0
  for await (const page of pages) {
    for (const candidate of page) {
      const price = choice.price(candidate)
      // This candidate would exceed the budget.
      if (credits + price > choice.credits) return { queries, leftOut, looked, short: true }
      looked += 1
      const reason = reasonAgainst(candidate, choice, known)
      if (reason !== null) {
        leftOut[reason] += 1
        continue
      }
      known.add(likeness(candidate))
      credits += price
      queries.push(candidate)
    }
  }
  return { queries, leftOut, looked, short: false }
}

function reasonAgainst(
  candidate: RelatedQuery,
  { wanted, scripts }: SelectionRules,
  known: ReadonlySet<string>,
): keyof LeftOut | null {
  const { q } = candidate
  const text = checkText(q, 'keep')
  if (!text.ok || text.value !== q) return 'unusable'
  if (!wanted(q)) return 'unwanted'
  if (!writtenLike(q, scripts)) return 'other_script'
  return known.has(likeness(candidate)) ? 'twins' : null
}

/** Returns a key shared by queries with nearly the same results. The key ignores the requested number of results. */
function likeness({ q, location, hl, gl, device }: Query): string {
  return JSON.stringify([twinKey(q), location, hl, gl, device])
}

export type TextFilter = (text: string) => boolean

/** Values of the flags --match and --not, which may be repeated. */
export interface TypedFilter {
  readonly match?: readonly string[]
  readonly not?: readonly string[]
}

/** Builds a filter. A text passes if it matches a --match pattern (if any are given) and no --not pattern. */
export function readFilter({ match = [], not = [] }: TypedFilter): TextFilter {
  const fits = match.map((typed) => readPattern('match', typed))
  const spoils = not.map((typed) => readPattern('not', typed))
  return (text) =>
    (fits.length === 0 || fits.some((fit) => fit(text))) && !spoils.some((spoil) => spoil(text))
}

function readPattern(flag: string, typed: string): TextFilter {
  const [, source] = /^\/(.+)\/i?$/s.exec(typed) ?? []
  if (source === undefined) {
    const words = wordsOf(typed)
    if (words.length > 0) return holdsAll(words)
    throw new Misuse(
      `expected --${flag} to be words or a /regular expression/, got ${JSON.stringify(typed)}`,
    )
  }
  try {
    const pattern = new RegExp(source, 'iu')
    return (text) => pattern.test(text)
  } catch (cause) {
    throw new Misuse(
      `expected --${flag} to be words or a /regular expression/, got ${typed}, which is not valid: ${reasonOf(cause)}`,
      { cause },
    )
  }
}

// Texts in these scripts have no spaces between words, so a pattern can only be matched as a substring.
const unparted =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

function holdsAll(words: readonly string[]): TextFilter {
  return (text) => {
    const lower = text.toLowerCase()
    const own = new Set(wordsOf(text))
    return words.every((word) => (unparted.test(word) ? lower.includes(word) : own.has(word)))
  }
}

const latin = 'Latin'
/** Scripts, keyed by Unicode name. Scripts that are used together in one language form one group. */
const knownScripts: readonly (readonly [string, RegExp])[] = [
  // Chinese and Japanese share characters, so the language of a short text can't be determined.
  ['Han', /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}]/u],
  ...[
    ...[latin, 'Cyrillic', 'Greek', 'Arabic', 'Hebrew', 'Devanagari', 'Bengali', 'Tamil'],
    ...['Telugu', 'Thai', 'Georgian', 'Armenian', 'Hangul'],
  ].map((name) => [name, new RegExp(`\\p{Script=${name}}`, 'u')] as const),
]

export function scriptsOf(texts: Iterable<string>): ReadonlySet<string> {
  const found = new Set<string>()
  for (const text of texts) {
    if (/^[\u0020-\u007e]*$/.test(text)) {
      if (/[a-z]/i.test(text)) found.add(latin)
      continue
    }
    for (const sign of text.match(/\p{L}/gu) ?? []) {
      found.add(knownScripts.find(([, pattern]) => pattern.test(sign))?.[0] ?? 'other')
    }
  }
  return found
}

/** True if a text uses the list's scripts. Latin names are allowed, but only together with these scripts. */
export function writtenLike(text: string, list: ReadonlySet<string>): boolean {
  const own = [...scriptsOf([text])]
  if (own.some((script) => script !== latin && !list.has(script))) return false
  return own.length === 0 || own.some((script) => list.has(script))
}

// Separators between words. Punctuation inside words is kept: "node.js", "c++" and "c#" are distinct.
const between = /[\s\p{Pd}_/,;:!?"'`’‘“”«»()[\]{}]+/u

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(between)
    .map((word) => word.replace(/\.+$/, ''))
    .filter((word) => word !== '')
}

/** Key that is the same for texts that differ only in word order, plurals, hyphens or capital letters. */
export function twinKey(text: string): string {
  return [...new Set(wordsOf(text).map(singular))].toSorted().join(' ')
}

/** Strips common plural endings in English, Spanish, French and Portuguese. The result is only used for comparison. */
function singular(word: string): string {
  if (word.length < 4 || !/^\p{L}+$/u.test(word)) return word
  return word
    .replace(/(?<![su])s$/, '')
    .replace(/(?<=[sxz]|ch|sh)e$/, '')
    .replace(/(?<=[^aeiou])(?:ie|y)$/, 'i')
}
