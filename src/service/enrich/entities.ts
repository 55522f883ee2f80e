// Recognises entities in results: first known names, then names that a tagger finds.

import type nlpFunction from 'compromise/three'
import type { NamedEntity } from '../schemas.ts'
import { dropRepeated, recalled, stem, stopWords, wordsOf } from './labels.ts'

interface Found {
  readonly q: string
  readonly texts: readonly string[]
  readonly known: readonly NamedEntity[]
}

/** Finds entities, but leaves out doubtful matches. */
export async function findEntities(found: Found, gazetteer: Gazetteer): Promise<NamedEntity[]> {
  const mentions = found.texts.map((text) => gazetteer.findNames(text))
  const named = gazetteer.findAny(found.q)
  // In a long query, an everyday word is rarely meant as a name.
  const asked = wordsOf(found.q).length > 3 ? gazetteer.findNames(found.q) : named
  const known = [...found.known, ...asked, ...repeated(found, mentions, gazetteer)]
  const names = [...known, ...mentions.flat()].map(({ name }) => plain(name)).join('')
  // A query for a known subject rarely names anything else, and tagging takes longer than all other steps.
  const unknown = [...(named.length > 0 ? [] : [found.q]), ...sharedRuns(found.texts)]
  const tagged = await tag(unknown.filter((text) => !names.includes(plain(text))))
  const entities = [...known, ...tagged.filter(({ name }) => !names.includes(plain(name)))]
  // The same name may be written as one word or two, such as `WebSockets` and `Web Sockets`.
  const keys = entities.map(({ name }) => plain(name).replaceAll(' ', '') || name)
  return entities.filter((_, at) => keys.indexOf(keys[at] ?? '') === at).slice(0, 8)
}

/** Returns the words of a text between spaces, so that only whole words match. */
const plain = recalled((text) => ` ${wordsOf(text).join(' ')} `)

/** Returns the names found in at least two results, most frequent first. */
function repeated({ q, texts }: Found, mentions: NamedEntity[][], gazetteer: Gazetteer) {
  const asked = wordsOf(q).map(stem)
  const fresh = dropRepeated(texts).map(plain)
  const isTelling = ({ name, type }: NamedEntity, [first = 0, ...others]: readonly number[]) => {
    // A field, such as HTML, is mentioned on pages about anything in it.
    if (gazetteer.isField(name)) return (others.length + 1) * 2 >= texts.length
    if (others.length === 0) return false
    // Later pages that share a sentence may have little to do with the query. Publishers' names are in such a sentence.
    if (first < 2 || type === 'Organization') return true
    if (wordsOf(name).some((word) => asked.includes(stem(word)))) return true
    return fresh.filter((text) => text.includes(plain(name))).length > 1
  }
  return [...new Set(mentions.flat())]
    .map((one) => ({ one, places: [...mentions.keys()].filter((n) => mentions[n]?.includes(one)) }))
    .filter(({ one, places }) => isTelling(one, places))
    .toSorted((a, b) => b.places.length - a.places.length)
    .map(({ one }) => one)
}

/** Returns the capitalised phrases that two results share. */
function sharedRuns(texts: readonly string[]): string[] {
  const capitalRun = /\p{Lu}[\p{L}'’-]+(?:\s+\p{Lu}[\p{L}'’-]+)+/gu
  const runs = texts.flatMap((text) => [...new Set(text.match(capitalRun))])
  return [...new Set(runs.filter((run, at) => runs.indexOf(run) < at))].slice(0, 10)
}

// The tagger is loaded on first use, because loading takes a third of a second.
let loading: Promise<(text: string) => readonly NamedEntity[]> | null = null

async function tag(texts: readonly string[]): Promise<NamedEntity[]> {
  if (texts.length === 0) return []
  loading ??= import('compromise/three').then(({ default: nlp }) =>
    recalled((text) => typed(nlp, text)),
  )
  return texts.flatMap(await loading)
}

const kinds = { people: 'Person', places: 'Place', organizations: 'Organization' } as const

function typed(nlp: typeof nlpFunction, text: string): NamedEntity[] {
  const document = nlp(text)
  return (Object.keys(kinds) as (keyof typeof kinds)[]).flatMap((method) => {
    const type = kinds[method]
    // Most texts have none of these tags, and checking for a tag is much cheaper than extracting names.
    if (!document.has(`#${type}`)) return []
    const names = (document[method]().out('array') as string[]).map(tidy)
    // The tagger mistakes short words and abbreviations for companies, and capitalised first words for names.
    return names
      .filter((name) => name.length > 2 && !/^\p{Lu}{2,4}$| \p{Ll}{4}/u.test(name))
      .map((name) => ({ name, type }))
  })
}

function tidy(name: string): string {
  const bare = name.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '').replace(/['’]s$/, '')
  return bare === bare.toLowerCase()
    ? bare.replace(/(?<=^|\s)\p{L}/gu, (letter) => letter.toUpperCase())
    : bare
}

const plainName = /^[\p{L}\p{N}][\p{L}\p{N} .,:'&/+-]*$/u
// Matches names such as WebP, IndexedDB, SVG and MP3, but not everyday words.
const ownShape = /\p{L}.*[\p{Lu}\p{N}]/u

export class Gazetteer {
  readonly #names = new Map<string, NamedEntity>()
  /** Number of words in the longest name with a given first word. Most words begin no name. */
  readonly #longest = new Map<string, number>()
  /** Number of names that contain a word. */
  readonly #shares = new Map<string, number>()

  constructor(entities: readonly NamedEntity[]) {
    for (const entity of entities) {
      // Texts mention names like `CSS Grid Layout (level 1)` without the level. Names such as `<select>` are skipped.
      const name = entity.name.replace(/\s*\([^)]*\)$/, '')
      const tokens = wordsOf(name)
      for (const word of tokens) this.#shares.set(word, (this.#shares.get(word) ?? 0) + 1)
      if (!plainName.test(name)) continue
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

  /** True for a single word that occurs in many names, such as HTML. */
  isField(name: string): boolean {
    return (this.#shares.get(name.toLowerCase()) ?? 0) > 4
  }

  /** True for a known name that is not a single everyday word. */
  isName(text: string): boolean {
    const tokens = wordsOf(text)
    return (tokens.length > 1 || ownShape.test(text)) && this.#names.has(tokens.join(' '))
  }

  /** Finds the longest known name at each position of a text, including names that are a single everyday word. */
  readonly findAny = recalled((text: string): readonly NamedEntity[] => {
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
  })
}
