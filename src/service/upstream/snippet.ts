import { stem, stopWords } from '../enrich/words.ts'

const longest = 220

/** The sentence or two of a text that say most about a query, whole words only. */
export function makeSnippet(q: string, text: string): string {
  const clean = text.replace(/\s+/g, ' ').trim()
  if (clean.length <= longest) return clean
  const asked = new Set(wordsOf(q).filter((word) => !stopWords.has(word)))
  const sentences = clean.split(/(?<=[.!?])\s+(?=[\p{Lu}\p{N}"'(])/u)
  const scores = sentences.map(
    (sentence) => new Set(wordsOf(sentence).filter((word) => asked.has(word))).size,
  )
  // The first of the best: what comes earlier on a page says what it is about.
  const best = scores.indexOf(Math.max(...scores))
  return cut(sentences.slice(best).join(' '))
}

function cut(text: string): string {
  if (text.length <= longest) return text
  const end = text.lastIndexOf(' ', longest - 1)
  return `${text.slice(0, end > 0 ? end : longest - 1)}…`
}

function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map(stem)
}
