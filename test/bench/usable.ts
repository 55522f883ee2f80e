/** Expected answers to the query of a topic in a judged set. */
export interface Topic {
  readonly q: string
  /** A result whose title, address or snippet matches is relevant. */
  readonly about: string
  /** A label, a related search or an entity that matches belongs to the query. */
  readonly fits: string
  readonly expected?: string | undefined
}

const functionWords = new Set(
  'a an the of for to in on with and or by as at from is are be it its this that using via you your can how what'.split(
    ' ',
  ),
)
const siteTails = /\b(MDN|Can I use|Web features explorer|Web APIs|Wikipedia)\b|[|–—]/i

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

function sameWords(one: string, other: string): boolean {
  return wordsOf(one).toSorted().join(' ') === wordsOf(other).toSorted().join(' ')
}

/** A text that could be typed or used as a label: complete, about the query, and more specific than it. */
function isWhole(text: string, { q, fits }: Topic, most: number): boolean {
  const words = wordsOf(text)
  const [first = '', last = ''] = [words[0], words.at(-1)]
  if (words.length === 0 || words.length > most || siteTails.test(text)) return false
  if (functionWords.has(last) || (functionWords.has(first) && first !== 'how')) return false
  return !sameWords(text, q) && new RegExp(fits, 'i').test(text)
}

export function isUsableLabel(label: string, topic: Topic): boolean {
  return isWhole(label, topic, 5)
}

export function isUsableSearch(text: string, topic: Topic): boolean {
  return isWhole(text, topic, 8)
}

/** No topic is about a person or a place. */
export function isRightEntity(
  { name, type }: { readonly name: string; readonly type: string },
  { fits }: Topic,
  organisations: string,
): boolean {
  if (type === 'Person' || type === 'Place' || siteTails.test(name)) return false
  return new RegExp(fits, 'i').test(name) || new RegExp(organisations, 'i').test(name)
}
