// Recognises entities in results: first known names, then names that a tagger finds.

import type nlpFunction from 'compromise/three'
import type { NamedEntity } from '../schemas.ts'
import { stopWords, wordsOf } from './labels.ts'

const mostEntities = 8
const mostSentences = 10

interface Found {
  readonly q: string
  /** Title and snippet of each result. */
  readonly texts: readonly string[]
  /** Entities with a type that the upstream reports. */
  readonly known: readonly NamedEntity[]
}

/** Prefers missing an entity to reporting a wrong one. */
export async function findEntities(found: Found, gazetteer: Gazetteer): Promise<NamedEntity[]> {
  const entities = [
    ...found.known,
    ...gazetteer.findAny(found.q),
    ...repeated(found.texts.map((text) => gazetteer.findNames(text))),
    ...(await tag(found)),
  ]
  const names = entities.map(({ name }) => name.toLowerCase())
  return entities
    .filter(({ name }, index) => names.indexOf(name.toLowerCase()) === index)
    .slice(0, mostEntities)
}

/** Returns the names found in at least two results, most frequent first. A name in only one may be coincidental. */
function repeated(lists: readonly (readonly NamedEntity[])[]): NamedEntity[] {
  const counts = new Map<NamedEntity, number>()
  for (const entity of lists.flatMap((list) => [...new Set(list)])) {
    counts.set(entity, (counts.get(entity) ?? 0) + 1)
  }
  return [...counts]
    .filter(([, count]) => count >= 2)
    .toSorted((a, b) => b[1] - a[1])
    .map(([entity]) => entity)
}

let tagger: Promise<typeof nlpFunction> | undefined

async function tag({ q, texts }: Found): Promise<NamedEntity[]> {
  // Loaded on first use, because loading takes a third of a second and only live searches need the tagger.
  const nlp = await (tagger ??= import('compromise/three').then((module) => module.default))
  return [q, tellingSentences(texts).join(' ')].flatMap((text) => typed(nlp, text))
}

// Each kind of entity, with the tagger's tags. A text is checked for these tags before names are extracted, because
// most texts have none of the tags and the check is much cheaper.
const kinds = [
  ['people', 'Person', '#Person'],
  ['places', 'Place', '(#Place|#Address)'],
  ['organizations', 'Organization', '#Organization'],
] as const

function typed(nlp: typeof nlpFunction, text: string): NamedEntity[] {
  const document = nlp(text)
  return kinds.flatMap(([method, type, tags]) => {
    if (!document.has(tags)) return []
    const names = document[method]().out('array') as string[]
    return names.map((name) => ({ name: tidy(name), type })).filter(({ name }) => isName(name))
  })
}

/** False for short words and abbreviations, which the tagger mistakes for companies. */
function isName(name: string): boolean {
  return name.length > 2 && !/^\p{Lu}{2,4}$/u.test(name)
}

function tidy(name: string): string {
  const bare = name.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '').replace(/['’]s$/, '')
  return bare === bare.toLowerCase()
    ? bare.replace(/(?<=^|\s)\p{L}/gu, (letter) => letter.toUpperCase())
    : bare
}

const capitalRun = /\p{Lu}[\p{L}'’-]+(?:\s+\p{Lu}[\p{L}'’.-]+)+/gu

/**
 * Returns the sentences with a run of capitalised words that two results share. Only these are tagged, because the
 * tagger is slow and needs whole sentences.
 */
function tellingSentences(texts: readonly string[]): string[] {
  const places = new Map<string, Set<number>>()
  texts.forEach((text, index) => {
    for (const [match] of text.matchAll(capitalRun)) {
      const run = match.replace(/[.'’-]+$/, '')
      const seen = places.get(run) ?? new Set()
      places.set(run, seen.add(index))
    }
  })
  const sentences = new Set<string>()
  for (const [run, seen] of places) {
    if (seen.size < 2 || sentences.size >= mostSentences) continue
    const text = texts[[...seen][0] ?? 0] ?? ''
    const sentence = text.split(/(?<=[.!?])\s+/).find((part) => part.includes(run))
    if (sentence !== undefined) sentences.add(sentence.slice(0, 300))
  }
  return [...sentences]
}

const longestName = 6
const plainName = /^[\p{L}\p{N}][\p{L}\p{N} .,:'&/+-]*$/u
// Matches names such as WebP, IndexedDB, SVG and MP3. No everyday word is spelled like this.
const ownShape = /\p{L}.*[\p{Lu}\p{N}]/u

/** Finds known names in texts, word by word. */
export class Gazetteer {
  readonly #names = new Map<string, NamedEntity>()
  /** Number of words in the longest name, by the name's first word. Most words in a text do not start a name. */
  readonly #longest = new Map<string, number>()

  constructor(entities: readonly NamedEntity[]) {
    for (const entity of entities) {
      // Texts mention a name such as `CSS Grid Layout (level 1)` without the level. A name such as `<select>` is
      // skipped, because it does not consist of plain words.
      const name = entity.name.replace(/\s*\([^)]*\)$/, '')
      if (!plainName.test(name)) continue
      const tokens = wordsOf(name)
      const [first = '', key] = [tokens[0], tokens.join(' ')]
      if (this.#names.has(key) || stopWords.has(key)) continue
      this.#names.set(key, { ...entity, name })
      const length = Math.min(longestName, tokens.length)
      this.#longest.set(first, Math.max(this.#longest.get(first) ?? 0, length))
    }
  }

  /** Finds every known name in a text, except names that are also everyday words, such as Grid and Content. */
  findNames(text: string): NamedEntity[] {
    return this.findAny(text).filter(({ name }) => name.includes(' ') || ownShape.test(name))
  }

  /** True for a known name that is not a single everyday word. */
  isName(text: string): boolean {
    const tokens = wordsOf(text)
    return (tokens.length > 1 || ownShape.test(text)) && this.#names.has(tokens.join(' '))
  }

  /** Finds the longest known name at each position of a text, including names that are a single everyday word. */
  findAny(text: string): NamedEntity[] {
    const tokens = wordsOf(text)
    const found: NamedEntity[] = []
    for (let at = 0; at < tokens.length; at += 1) {
      const most = this.#longest.get(tokens[at] ?? '') ?? 0
      for (let length = Math.min(most, tokens.length - at); length > 0; length -= 1) {
        const entity = this.#names.get(tokens.slice(at, at + length).join(' '))
        if (entity === undefined) continue
        found.push(entity)
        at += length - 1
        break
      }
    }
    return found
  }
}
