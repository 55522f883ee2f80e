/** Ways of writing by the names that Unicode gives them; those that one language writes with stand together. */
const scripts: readonly (readonly [string, RegExp])[] = [
  ['Latin', /\p{Script=Latin}/u],
  ['Cyrillic', /\p{Script=Cyrillic}/u],
  ['Greek', /\p{Script=Greek}/u],
  ['Arabic', /\p{Script=Arabic}/u],
  ['Hebrew', /\p{Script=Hebrew}/u],
  ['Devanagari', /\p{Script=Devanagari}/u],
  ['Bengali', /\p{Script=Bengali}/u],
  ['Tamil', /\p{Script=Tamil}/u],
  ['Telugu', /\p{Script=Telugu}/u],
  ['Thai', /\p{Script=Thai}/u],
  ['Georgian', /\p{Script=Georgian}/u],
  ['Armenian', /\p{Script=Armenian}/u],
  // Chinese and Japanese share their signs: of a short text nobody can tell which of the two it is.
  ['Han', /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}]/u],
  ['Hangul', /\p{Script=Hangul}/u],
]

const letter = /\p{L}/u
const latin = 'Latin'
const other = 'other'

/** The ways of writing whose letters a text holds. */
function scriptsOf(text: string): ReadonlySet<string> {
  if (/^[\u0020-\u007e]*$/.test(text)) return new Set(/[a-z]/i.test(text) ? [latin] : [])
  const found = new Set<string>()
  for (const sign of text) {
    if (!letter.test(sign)) continue
    found.add(scripts.find(([, pattern]) => pattern.test(sign))?.[0] ?? other)
  }
  return found
}

/** All ways of writing of some texts. */
export function scriptsOfAll(texts: Iterable<string>): ReadonlySet<string> {
  const found = new Set<string>()
  for (const text of texts) for (const script of scriptsOf(text)) found.add(script)
  return found
}

/** True for a text that is written as a list is: Latin names may stand in it, but not alone. */
export function writtenLike(text: string, list: ReadonlySet<string>): boolean {
  const own = [...scriptsOf(text)]
  if (own.some((script) => script !== latin && !list.has(script))) return false
  return own.length === 0 || own.some((script) => list.has(script))
}
