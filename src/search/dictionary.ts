import { asciiHost } from '../shared/hostname.ts'
import { idBytes } from '../shared/ids.ts'
import type { Domain, Entity, Page, Term } from '../store/answers/answer.ts'
import { readAddress, siteOf } from './page-url.ts'

// Few hosts and things make up most of all answers: they are hashed once.
const remembered = 10_000

/** Keeps what was used lately: when one generation is full, what the one before it held is forgotten. */
class Recent<T> {
  #young = new Map<string, T>()
  #old = new Map<string, T>()

  get(name: string, make: () => T): T {
    const young = this.#young.get(name)
    if (young !== undefined) return young
    const found = this.#old.get(name) ?? make()
    if (this.#young.size >= remembered) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(name, found)
    return found
  }
}

const domains = new Recent<Domain>()
const entities = new Recent<Entity>()
const clusters = new Recent<Term>()

/** One site is one domain, however its name is spelled: what was given stands beside the result where it differs. */
export function domainOf(given: string): Domain {
  return domains.get(given, () => {
    const host = asciiHost(given)
    return { id: idBytes('domain', host), host, site: siteOf(host) }
  })
}

/** The page of an address; not remembered, since most addresses are seen once. */
export function pageOf(url: string): Page {
  const { host, key } = readAddress(url)
  const domain = host === null ? null : domainOf(host)
  return { id: idBytes('page', url), domain, url, key }
}

/** A name must not hold U+001F, which parts name and type in the id. */
export function entityOf(name: string, type: string | null): Entity {
  return entities.get(type === null ? name : `${name}\u001f${type}`, () => ({
    id: type === null ? idBytes('entity', name) : idBytes('entity', name, type),
    name,
    type,
  }))
}

export function clusterOf(text: string): Term {
  return clusters.get(text, () => ({ id: idBytes('cluster', text), text }))
}

export function relatedOf(text: string): Term {
  return { id: idBytes('related_search', text), text }
}
