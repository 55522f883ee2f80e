// Labels the topics that a query's results share.

import { genericWords, recalled, stem, stopWords } from './labels.ts'

interface Phrase {
  readonly key: string
  readonly stems: readonly string[]
  readonly documents: Set<number>
  readonly forms: Map<string, number>
}

/** Returns labels for the topics that the results share, excluding the query itself. */
export function labelClusters(
  q: string,
  texts: readonly Record<'host' | 'text', string>[],
  isName: (text: string) => boolean,
): string[] {
  if (texts.length < 4) return []
  // Unless it is a name, a phrase that only two of many pages share may be a coincidence.
  const leastShares = texts.length < 20 ? 2 : 3
  const asked = new Set(stemsOf(wordsOf(q)))
  const read = texts.map(({ text }) => readText(text))
  const titles = read.map(({ head }) => head).join('|')
  const phrases = collect(read).flatMap((phrase) => {
    const { key, documents, stems } = phrase
    const isRare = documents.size < (stems.length > 1 ? 2 : 3)
    if (isRare || documents.size > 0.6 * texts.length || stems.every((one) => asked.has(one))) {
      return []
    }
    const forms = [...phrase.forms].toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    const form = forms[0]?.[0] ?? ''
    const named = isName(form)
    // Phrases that no title contains are often fragments of sentences.
    const isTitled = documents.size >= leastShares && titles.includes(` ${key} `)
    return named || (isTitled && isLabel(form)) ? { ...phrase, form, named } : []
  })
  const scored = dropContained(phrases).flatMap((phrase) => {
    const { documents, form, named } = phrase
    const hosts = new Set([...documents].map((index) => texts[index]?.host))
    const isGeneric = stemsOf(form.split(/[ -]/)).every((word) => genericWords.has(word))
    if (isGeneric || (hosts.size === 1 && documents.size > 2)) return []
    return { ...phrase, score: (named ? 2 : 1) * scoreOf(phrase, asked, texts.length) }
  })
  return accept(scored.toSorted((a, b) => b.score - a.score || (a.key < b.key ? -1 : 1)))
}

/**
 * Returns the phrases of up to four words that occur in one of the first ten texts. The texts are in order of
 * relevance, and pages further down are often about something else.
 */
function collect(texts: readonly ReadText[]): Phrase[] {
  const phrases = new Map<string, Phrase>()
  const shared = sharedStems(texts)
  for (const [index, { parts }] of texts.entries()) {
    for (const { words, stems } of parts) {
      for (let from = 0; from < words.length; from += 1) {
        let [key, form] = ['', '']
        for (let to = from; to < Math.min(words.length, from + 4); to += 1) {
          const one = stems[to] ?? ''
          if (!shared.has(one)) break
          key += to === from ? one : ` ${one}`
          form += to === from ? words[to] : ` ${words[to]}`
          let phrase = phrases.get(key)
          if (phrase === undefined) {
            if (index >= 10) break
            const own = stems.slice(from, to + 1)
            phrase = { key, stems: own, documents: new Set(), forms: new Map() }
            phrases.set(key, phrase)
          }
          phrase.documents.add(index)
          phrase.forms.set(form, (phrase.forms.get(form) ?? 0) + 1)
        }
      }
    }
  }
  return [...phrases.values()]
}

/** Returns the words of the first ten texts that another text also contains. Labels contain no other words. */
function sharedStems(texts: readonly ReadText[]): ReadonlySet<string> {
  const first = new Map<string, number>()
  const shared = new Set<string>()
  for (const [index, { stems }] of texts.entries()) {
    for (const one of stems) {
      if ((first.get(one) ?? index) < index) shared.add(one)
      else if (index < 10) first.set(one, index)
    }
  }
  return shared
}

/** Accepts phrases that look like names. Rejects single everyday words, and fragments of sentences. */
function isLabel(form: string): boolean {
  if (!form.includes(' ')) return /\p{L}.*[\p{Lu}\p{N}]/u.test(form) && form.length > 3
  // Phrases such as `polyfill based` and `newly available` have no noun, and titles of specifications end with more.
  return !/(?:[^ ]{4,}ed|[^ ]{3,}ly|based|available|level|module)$/i.test(form)
}

type ReadText = ReturnType<typeof readText>

/** Reads a text: its title's stems, its parts, and its distinct stems. */
const readText = recalled((text) => {
  const parts = partsOf(text)
  const head = ` ${stemsOf(wordsOf(text.split('. ')[0] ?? '')).join(' ')} `
  return { head, parts, stems: new Set(parts.flatMap(({ stems }) => stems)) }
})

/** Returns the sequences of words that contain no punctuation or stop words, with the words' stems. */
function partsOf(text: string) {
  let run = { words: [] as string[], stems: [] as string[] }
  const found = [run]
  const token = /[\p{L}\p{N}][\p{L}\p{N}'’-]*|[^\p{L}\p{N}\s'’-]|(?<=\s)-(?=\s)/gu
  for (const word of text.match(token) ?? []) {
    const lower = word.toLowerCase()
    if (/^(\d+|.)$/u.test(word) || stopWords.has(lower)) {
      if (run.words.length === 0) continue
      run = { words: [], stems: [] }
      found.push(run)
    } else {
      run.words.push(word)
      run.stems.push(stem(lower))
    }
  }
  return found
}

function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu) ?? []
}

function stemsOf(words: readonly string[]): string[] {
  return words.map((word) => stem(word.toLowerCase()))
}

/** Drops a phrase if a longer phrase that contains it occurs on most of the same pages. */
function dropContained<Kind extends Phrase>(phrases: readonly Kind[]): Kind[] {
  const longer = phrases.filter(({ stems }) => stems.length > 1)
  const isContained = ({ key, stems, documents }: Phrase) =>
    longer.some(
      (other) =>
        other.stems.length > stems.length &&
        other.documents.size >= 0.7 * documents.size &&
        ` ${other.key} `.includes(` ${key} `),
    )
  return phrases.filter((phrase) => !isContained(phrase))
}

function scoreOf({ documents, stems }: Phrase, asked: ReadonlySet<string>, total: number): number {
  const lengthFactor = [0, 0.6, 1.4, 1.3, 1.1][stems.length] ?? 1
  const fresh = stems.filter((one) => !asked.has(one)).length / stems.length
  const rarity = Math.log(1 + total / documents.size)
  return documents.size * lengthFactor * rarity * fresh
}

/** Skips a label if an earlier label covers most of the same pages. */
function accept(phrases: readonly (Phrase & { readonly form: string })[]): string[] {
  const taken: (typeof phrases)[number][] = []
  for (const phrase of phrases) {
    const { stems, documents } = phrase
    const last = stems.at(-1)
    const alike = taken.filter((other) => other.stems.length > 1 && other.stems.at(-1) === last)
    const overlaps = taken.some((other) => {
      const shared = [...documents].filter((index) => other.documents.has(index)).length
      const sameWords = stems.some((one) => other.stems.includes(one))
      return shared / documents.size > (sameWords ? 0.5 : 0.65)
    })
    // At most two labels may have the same last word, such as `Astc Extension` and `Draw Extension`.
    if (alike.length < 2 && !overlaps) taken.push(phrase)
  }
  return taken.slice(0, 8).map(({ form }) => capitalise(form))
}

/** Capitalises the words in a phrase that have neither capital letters nor hyphens. */
function capitalise(form: string): string {
  return form.replace(
    /(?<![^ ])\p{Ll}[^\p{Lu} -]*(?![^ ])/gu,
    (word) => word.charAt(0).toUpperCase() + word.slice(1),
  )
}
