import type nlpFunction from 'compromise/three'
import type { NamedEntity } from '../schemas.ts'
import type { Gazetteer } from './gazetteer.ts'

const most = 8
const mostSentences = 10

export interface Found {
  readonly q: string
  /** Title and snippet of each result. */
  readonly texts: readonly string[]
  /** What an upstream already knows, with types. */
  readonly known: readonly NamedEntity[]
}

/** Known names first, then what a tagger finds; precise and sparse, an empty list when nothing is known. */
export async function findEntities(found: Found, gazetteer: Gazetteer): Promise<NamedEntity[]> {
  const byName = new Map<string, NamedEntity>()
  const add = (entity: NamedEntity) => {
    const key = entity.name.toLowerCase()
    if (!byName.has(key)) byName.set(key, entity)
  }
  found.known.forEach(add)
  gazetteer.findAny(found.q).forEach(add)
  repeated(found.texts.map((text) => gazetteer.findNames(text))).forEach(add)
  for (const entity of await tag(found)) add(entity)
  return [...byName.values()].slice(0, most)
}

/** A name in one result is chance, in two it is a subject. The most frequent first. */
function repeated(lists: readonly (readonly NamedEntity[])[]): NamedEntity[] {
  const counts = new Map<NamedEntity, number>()
  for (const list of lists) {
    for (const entity of new Set(list)) counts.set(entity, (counts.get(entity) ?? 0) + 1)
  }
  return [...counts]
    .filter(([, count]) => count >= 2)
    .toSorted((a, b) => b[1] - a[1])
    .map(([entity]) => entity)
}

let tagger: Promise<typeof nlpFunction> | undefined

/** The tagger takes a third of a second to load: only a service that answers live searches pays for it. */
function loadTagger(): Promise<typeof nlpFunction> {
  tagger ??= import('compromise/three').then((module) => module.default)
  return tagger
}

async function tag({ q, texts }: Found): Promise<NamedEntity[]> {
  const nlp = await loadTagger()
  const spoken = typed(nlp, q)
  const sentences = tellingSentences(texts)
  return sentences.length === 0 ? spoken : [...spoken, ...typed(nlp, sentences.join(' '))]
}

// Each with the tags that it is made of: most texts bear none of them, and looking for that is far cheaper.
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

/** The tagger takes HTML and API for companies. */
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

/** Sentences with a capitalised run that two results share: the tagger is slow, and reads a name by its sentence. */
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
