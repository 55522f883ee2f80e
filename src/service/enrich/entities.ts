// Recognises entities in results: first known names, then names that a tagger finds.

import type nlpFunction from 'compromise/three'
import type { NamedEntity } from '../schemas.ts'
import { stopWords, wordsOf } from './labels.ts'

interface Found {
  readonly q: string
  readonly texts: readonly string[]
  readonly known: readonly NamedEntity[]
}

/** Finds entities, but leaves out doubtful matches. */
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
    .slice(0, 8)
}

/** Returns the names found in at least two results, most frequent first. */
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
  // The tagger is loaded on first use, because loading takes a third of a second.
  const nlp = await (tagger ??= import('compromise/three').then((module) => module.default))
  return [q, ...tellingSentences(texts)].flatMap((sentence) => typed(nlp, sentence))
}

// Most texts have none of these tags, and checking for a tag is much cheaper than extracting names.
const kinds = [
  ['people', 'Person', '#Person'],
  ['places', 'Place', '(#Place|#Address)'],
  ['organizations', 'Organization', '#Organization'],
] as const

// Many answers contain the same sentences, and tagging is the most expensive step in creating an answer.
const tagged = new Map<string, NamedEntity[]>()

function typed(nlp: typeof nlpFunction, sentence: string): NamedEntity[] {
  const before = tagged.get(sentence)
  if (before !== undefined) return before
  const document = nlp(sentence)
  const entities = kinds.flatMap(([method, type, tags]) => {
    if (!document.has(tags)) return []
    const names = document[method]().out('array') as string[]
    // The tagger mistakes short words and abbreviations for companies.
    return names
      .map((name) => ({ name: tidy(name), type }))
      .filter(({ name }) => name.length > 2 && !/^\p{Lu}{2,4}$/u.test(name))
  })
  if (tagged.size === 5000) tagged.clear()
  tagged.set(sentence, entities)
  return entities
}

function tidy(name: string): string {
  const bare = name.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '').replace(/['’]s$/, '')
  return bare === bare.toLowerCase()
    ? bare.replace(/(?<=^|\s)\p{L}/gu, (letter) => letter.toUpperCase())
    : bare
}

/** To save tagging time, selects only the sentences with capitalised phrases that two results share. */
function tellingSentences(texts: readonly string[]): string[] {
  const capitalRun = /\p{Lu}[\p{L}'’-]+(?:\s+\p{Lu}[\p{L}'’.-]+)+/gu
  const runs = texts.map(
    (text) =>
      new Set(Array.from(text.matchAll(capitalRun), ([run]) => run.replace(/[.'’-]+$/, ''))),
  )
  const sentences = [...new Set(runs.flatMap((own) => [...own]))].flatMap((run) => {
    const [first = '', second] = texts.filter((_, index) => runs[index]?.has(run))
    const sentence = first.split(/(?<=[.!?])\s+/).find((part) => part.includes(run))
    return second === undefined || sentence === undefined ? [] : [sentence.slice(0, 300)]
  })
  return [...new Set(sentences)].slice(0, 10)
}

const plainName = /^[\p{L}\p{N}][\p{L}\p{N} .,:'&/+-]*$/u
// Matches names such as WebP, IndexedDB, SVG and MP3, but not everyday words.
const ownShape = /\p{L}.*[\p{Lu}\p{N}]/u

export class Gazetteer {
  readonly #names = new Map<string, NamedEntity>()
  /** Number of words in the longest name with a given first word. Most words begin no name. */
  readonly #longest = new Map<string, number>()

  constructor(entities: readonly NamedEntity[]) {
    for (const entity of entities) {
      // Texts mention names like `CSS Grid Layout (level 1)` without the level. Names such as `<select>` are skipped.
      const name = entity.name.replace(/\s*\([^)]*\)$/, '')
      if (!plainName.test(name)) continue
      const tokens = wordsOf(name)
      const [first = '', key] = [tokens[0], tokens.join(' ')]
      if (this.#names.has(key) || stopWords.has(key)) continue
      this.#names.set(key, { ...entity, name })
      const length = Math.min(6, tokens.length)
      this.#longest.set(first, Math.max(this.#longest.get(first) ?? 0, length))
    }
  }

  /** Finds known names in a text, except names that are also everyday words, such as Grid and Content. */
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
