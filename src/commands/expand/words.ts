// Signs that part words; those inside of words stay: "node.js", "c++" and "c#" are three different things.
const between = /[\s\p{Pd}_/,;:!?"'`’‘“”«»()[\]{}]+/u

/** The words of a text, in lower case. */
export function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(between)
    .map((word) => word.replace(/\.+$/, ''))
    .filter((word) => word !== '')
}

/** Equal for texts that differ in nothing but the order of their words, a plural, a hyphen or a capital letter. */
export function twinKey(text: string): string {
  return [...new Set(wordsOf(text).map(singular))].toSorted().join(' ')
}

/** As English, Spanish, French and Portuguese form most plurals: a key to compare by, not a word. */
function singular(word: string): string {
  if (word.length < 4 || !/^\p{L}+$/u.test(word)) return word
  return word
    .replace(/(?<![su])s$/, '')
    .replace(/(?<=[sxz]|ch|sh)e$/, '')
    .replace(/(?<=[^aeiou])(?:ie|y)$/, 'i')
}
