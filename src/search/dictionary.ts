import { contentId } from '../ids.ts'
import type { Domain, Entity, Page, Term } from '../store/answer.ts'
import { hostOf, siteOf, urlKey } from './address.ts'

// Few hosts and things make up most of all answers: hashing them once saves a third of the work.
const remembered = 20_000

class Recent<T> {
  readonly #known = new Map<string, T>()

  get(name: string, make: () => T): T {
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const made = make()
    this.#known.set(name, made)
    if (this.#known.size > remembered) {
      for (const oldest of this.#known.keys()) {
        this.#known.delete(oldest)
        break
      }
    }
    return made
  }
}

const domains = new Recent<Domain>()
const entities = new Recent<Entity>()
const clusters = new Recent<Term>()

export function domainOf(host: string): Domain {
  return domains.get(host, () => ({ id: contentId('domain', host), host, site: siteOf(host) }))
}

/** The page of an address; not remembered, since most addresses are seen once. */
export function pageOf(url: string): Page {
  const host = hostOf(url)
  const domain = host === null ? null : domainOf(host)
  return { id: contentId('page', url), domain, url, key: urlKey(url) }
}

/** A name must not hold U+001F, which parts name and type in the id. */
export function entityOf(name: string, type: string | null): Entity {
  return entities.get(type === null ? name : `${name}\u001f${type}`, () => ({
    id: type === null ? contentId('entity', name) : contentId('entity', name, type),
    name,
    type,
  }))
}

export function clusterOf(text: string): Term {
  return clusters.get(text, () => ({ id: contentId('cluster', text), text }))
}

export function relatedOf(text: string): Term {
  return { id: contentId('related_search', text), text }
}
