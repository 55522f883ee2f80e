import { Misuse, reasonOf } from '../../shared/errors.ts'
import { wordsOf } from './words.ts'

/** Tells of a text whether it is wanted. */
export type TextFilter = (text: string) => boolean

/** What --match and --not say; each may have been given several times. */
export interface TypedFilter {
  readonly match?: readonly string[]
  readonly not?: readonly string[]
}

/** TextFilter is what fits at least one --match, if there is any, and no --not. */
export function readFilter({ match = [], not = [] }: TypedFilter): TextFilter {
  const fits = match.map((typed) => readPattern('match', typed))
  const spoils = not.map((typed) => readPattern('not', typed))
  return (text) =>
    (fits.length === 0 || fits.some((fit) => fit(text))) && !spoils.some((spoil) => spoil(text))
}

function readPattern(flag: string, typed: string): TextFilter {
  const [, source] = /^\/(.+)\/i?$/s.exec(typed) ?? []
  if (source !== undefined) return readExpression(flag, typed, source)
  const words = wordsOf(typed)
  if (words.length > 0) return holdsAll(words)
  throw new Misuse(
    `expected --${flag} to be words or a /regular expression/, got ${JSON.stringify(typed)}`,
  )
}

function readExpression(flag: string, typed: string, source: string): TextFilter {
  try {
    const pattern = new RegExp(source, 'iu')
    return (text) => pattern.test(text)
  } catch (cause) {
    throw new Misuse(
      `expected --${flag} to be words or a /regular expression/, got ${typed}, which is none: ${reasonOf(cause)}`,
      { cause },
    )
  }
}

// Written without blanks between words: there, a part of the text is all that can be looked for.
const unparted =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

function holdsAll(words: readonly string[]): TextFilter {
  return (text) => {
    const lower = text.toLowerCase()
    const own = new Set(wordsOf(text))
    return words.every((word) => (unparted.test(word) ? lower.includes(word) : own.has(word)))
  }
}
