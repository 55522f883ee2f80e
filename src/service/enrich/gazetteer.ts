import type { NamedEntity } from '../schemas.ts'
import { stopWords } from './words.ts'

const longestName = 6
const plainName = /^[\p{L}\p{N}][\p{L}\p{N} .,:'&/+-]*$/u
// WebP, IndexedDB, SVG, MP3: nobody writes an everyday word so.
const ownShape = /\p{L}.*[\p{Lu}\p{N}]/u

/** Names that are known beforehand, found in a text word by word. */
export class Gazetteer {
  readonly #names = new Map<string, NamedEntity>()
  /** How many words the longest name has that begins with a word: most words of a text begin none. */
  readonly #longest = new Map<string, number>()

  constructor(entities: readonly NamedEntity[]) {
    for (const entity of entities) {
      // `CSS Grid Layout (level 1)` is spoken of without its level; `<select>` is no word at all.
      const name = entity.name.replace(/\s*\([^)]*\)$/, '')
      if (!plainName.test(name)) continue
      const tokens = words(name)
      const [first = '', key] = [tokens[0], tokens.join(' ')]
      if (this.#names.has(key) || stopWords.has(key)) continue
      this.#names.set(key, { ...entity, name })
      const length = Math.min(longestName, tokens.length)
      this.#longest.set(first, Math.max(this.#longest.get(first) ?? 0, length))
    }
  }

  /** Every known name in a query, where each word is meant. */
  findAny(text: string): NamedEntity[] {
    return this.#find(text)
  }

  /** Every known name in a text, but for single words that are names only by accident: Grid, Content, Object. */
  findNames(text: string): NamedEntity[] {
    return this.#find(text).filter(({ name }) => name.includes(' ') || ownShape.test(name))
  }

  /** True for a known name of more than one everyday word. */
  isName(text: string): boolean {
    const tokens = words(text)
    return (tokens.length > 1 || ownShape.test(text)) && this.#names.has(tokens.join(' '))
  }

  /** The longest name at each place. */
  #find(text: string): NamedEntity[] {
    const tokens = words(text)
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

function words(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}
