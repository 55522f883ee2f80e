import type { Feature, Json, JsonObject, Placed } from '../store/answers/answer.ts'
import { domainOf, pageOf } from './dictionary.ts'
import { isObject } from './json.ts'

// Spec gap 2.5: which fields come besides the named ones is not shown. These are the names under which search APIs say such things.
const addresses = ['url', 'link', 'href', 'displayed_link', 'website']
const hosts = ['domain', 'host', 'source']
const texts = ['title', 'question', 'text', 'name', 'query', 'answer', 'snippet', 'content']

/** What an answer carries in blocks that the interface does not name, each thing a row; a plain value is no block. */
export function featuresOf(extra: JsonObject | null): readonly Placed<Feature>[] {
  if (extra === null) return []
  return Object.entries(extra)
    .flatMap(([kind, block]) => thingsOf(block).map((thing) => featureOf(kind, thing)))
    .map((item, index) => ({ ordinal: index + 1, item }))
}

function thingsOf(block: Json): readonly Json[] {
  if (Array.isArray(block)) return (block as readonly Json[]).filter((thing) => thing !== null)
  return isObject(block) ? [block] : []
}

function featureOf(kind: string, thing: Json): Feature {
  if (typeof thing === 'string') return { kind, page: null, domain: null, text: thing, extra: null }
  if (!isObject(thing)) {
    return { kind, page: null, domain: null, text: null, extra: { value: thing } }
  }
  const address = nameOf(thing, addresses, (text) => /^https?:\/\//i.test(text))
  // A word with blanks is what a source is called, not where it is.
  const host = nameOf(thing, hosts, (text) => /^[^\s/:]+\.[^\s/:]+$/.test(text))
  const title = nameOf(thing, texts, (text) => text !== '')
  const page = address === null ? null : pageOf(textOf(thing, address))
  const domain = host === null ? (page?.domain ?? null) : domainOf(textOf(thing, host))
  const said = [address, host, title]
  const rest = Object.entries(thing).filter(([name]) => !said.includes(name))
  return {
    kind,
    page,
    domain,
    text: title === null ? null : textOf(thing, title),
    extra: rest.length === 0 ? null : Object.fromEntries(rest),
  }
}

/** The first of the names under which a thing says a text that will do. */
function nameOf(
  thing: JsonObject,
  names: readonly string[],
  fits: (text: string) => boolean,
): string | null {
  return names.find((name) => Object.hasOwn(thing, name) && fits(textOf(thing, name))) ?? null
}

function textOf(thing: JsonObject, name: string): string {
  const value = thing[name]
  return typeof value === 'string' ? value : ''
}
