// Labels the topics that the results of a query share.

import { stem, stopWords } from './labels.ts'

const fewest = 4
const most = 8
const longest = 4
// Number of pages that must share a phrase. Among many pages, two pages may share a phrase by chance, so three pages
// are required unless the phrase is a known name.
const shares = { few: 2, many: 3, manyPages: 20 }

interface Phrase {
  readonly key: string
  readonly stems: readonly string[]
  readonly documents: Set<number>
  readonly forms: Map<string, number>
}

export interface ClusterText {
  readonly host: string
  readonly text: string
}

/** Returns labels of topics that the results share beyond the query; no labels if there are too few results. */
export function labelClusters(
  q: string,
  texts: readonly ClusterText[],
  isName: (text: string) => boolean,
): string[] {
  if (texts.length < fewest) return []
  const leastShares = texts.length < shares.manyPages ? shares.few : shares.many
  const asked = new Set(wordsOf(q).map((word) => stem(word.toLowerCase())))
  const phrases = collect(texts).filter(({ documents, stems }) => {
    const share = documents.size / texts.length
    if (documents.size < 2 || share > 0.6 || stems.every((one) => asked.has(one))) return false
    return stems.length > 1 || documents.size > 2
  })
  const scored = dropContained(phrases)
    .filter(({ documents }) => !isOneHost(documents, texts))
    .map((phrase) => {
      const form = usualForm(phrase)
      const named = isName(form)
      const score = (named ? 2 : 1) * scoreOf(phrase, asked, texts.length)
      return { ...phrase, form, named, score }
    })
    .filter(({ documents, named }) => named || documents.size >= leastShares)
    .filter(({ form, named }) => isLabel(form, named))
    .toSorted((a, b) => b.score - a.score || (a.key < b.key ? -1 : 1))
  return accept(scored).map(({ form }) => surface(form))
}

function collect(texts: readonly ClusterText[]): Phrase[] {
  const phrases = new Map<string, Phrase>()
  texts.forEach(({ text }, index) => {
    for (const words of runs(text)) {
      const stems = words.map((word) => stem(word.toLowerCase()))
      for (let from = 0; from < words.length; from += 1) {
        for (let to = from + 1; to <= Math.min(words.length, from + longest); to += 1) {
          const key = stems.slice(from, to).join(' ')
          const form = words.slice(from, to).join(' ')
          const phrase = phrases.get(key) ?? {
            key,
            stems: stems.slice(from, to),
            documents: new Set(),
            forms: new Map<string, number>(),
          }
          phrases.set(key, phrase)
          phrase.documents.add(index)
          phrase.forms.set(form, (phrase.forms.get(form) ?? 0) + 1)
        }
      }
    }
  })
  return [...phrases.values()]
}

// Generic words. Pages that share only generic words do not share a topic.
const empty = new Set(
  'api app application attribute available based browser chapter class common compatibility css current default device different document draft edition editor element event example feature file first following full function general group height html important information input instance interface introduction javascript latest level list main mdn method mobile modern module name new newly number object official online open option output page part property proposal read reading report section set simple site size specific specification standard state static style support syntax table text time title topic tutorial type user value version way web website width word working'.split(
    ' ',
  ),
)

/**
 * Accepts names, and phrases that are written like a name. Rejects generic words, single everyday words, dates and
 * fragments of sentences.
 */
function isLabel(usual: string, named: boolean): boolean {
  const form = usual.replace(/['’]s\b/g, '')
  if (form.split(/[ -]/).every((word) => empty.has(stem(word.toLowerCase())))) return false
  if (named) return true
  if (!/^\p{L}/u.test(form)) return false
  if (!form.includes(' ')) return /\p{L}.*[\p{Lu}\p{N}]/u.test(form) && form.length > 3
  // In phrases such as `polyfill based`, `set based` and `newly available`, the noun is missing.
  return !/(?:[^ ]{4,}ed|[^ ]{3,}ly|based|available)$/i.test(form)
}

/** Returns the sequences of words that have no punctuation and no stop words between them. */
function runs(text: string): string[][] {
  return text
    .split(/[^\p{L}\p{N}\s'’-]+|\s[-–—]\s/u)
    .flatMap((part) => {
      const found: string[][] = [[]]
      for (const word of wordsOf(part)) {
        if (stopWords.has(word.toLowerCase()) || /^\d+$/.test(word) || word.length < 2)
          found.push([])
        else found.at(-1)?.push(word)
      }
      return found
    })
    .filter((words) => words.length > 0)
}

function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu) ?? []
}

/** Drops a phrase if a longer phrase that contains it occurs on most of the same pages. */
function dropContained(phrases: readonly Phrase[]): Phrase[] {
  const longer = phrases.filter(({ stems }) => stems.length > 1)
  return phrases.filter(
    (phrase) =>
      !longer.some(
        (other) =>
          other.stems.length > phrase.stems.length &&
          ` ${other.key} `.includes(` ${phrase.key} `) &&
          other.documents.size >= 0.7 * phrase.documents.size,
      ),
  )
}

function isOneHost(documents: ReadonlySet<number>, texts: readonly ClusterText[]): boolean {
  return new Set([...documents].map((index) => texts[index]?.host)).size === 1 && documents.size > 2
}

const lengthFactor = [0, 0.6, 1.4, 1.3, 1.1]

function scoreOf(phrase: Phrase, asked: ReadonlySet<string>, total: number): number {
  const { documents, stems } = phrase
  const fresh = stems.filter((one) => !asked.has(one)).length / stems.length
  const rarity = Math.log(1 + total / documents.size)
  return documents.size * (lengthFactor[stems.length] ?? 1) * rarity * fresh
}

/** Accepts labels one after another. Skips a label if an earlier label already covers most of the same pages. */
function accept<P extends Phrase>(phrases: readonly P[]): P[] {
  const taken: P[] = []
  for (const phrase of phrases) {
    if (taken.length === most) break
    // At most two labels may have the same last word, such as `Astc Extension` and `Draw Extension`.
    const kind = taken.filter(
      ({ stems }) => stems.length > 1 && stems.at(-1) === phrase.stems.at(-1),
    )
    if (kind.length >= 2) continue
    const overlaps = taken.some((other) => {
      const shared = [...phrase.documents].filter((index) => other.documents.has(index)).length
      const sameWords = phrase.stems.some((one) => other.stems.includes(one))
      return shared / phrase.documents.size > (sameWords ? 0.5 : 0.65)
    })
    if (!overlaps) taken.push(phrase)
  }
  return taken
}

/** Returns the most frequent spelling of a phrase. */
function usualForm({ forms }: Phrase): string {
  const [[form] = ['']] = [...forms].toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
  return form
}

/** Capitalises the words of a phrase that have no capital letters. */
function surface(form: string): string {
  const everyday = (word: string) => word === word.toLowerCase() && !word.includes('-')
  const words = form.split(' ').map((word) => {
    return everyday(word) ? word.slice(0, 1).toUpperCase() + word.slice(1) : word
  })
  return words.join(' ')
}
