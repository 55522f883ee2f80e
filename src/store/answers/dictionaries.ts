import type { Domain, Entity, Page, Term } from './answer.ts'
import { TextColumn, UuidColumn } from '../arrays.ts'

/** Things that several answers name, each of them kept once. */
export abstract class Dictionary<T extends { readonly id: string }> {
  protected readonly ids = new UuidColumn()
  readonly #known = new Set<string>()

  add(item: T | null | undefined): void {
    if (item === null || item === undefined || this.#known.has(item.id)) return
    this.#known.add(item.id)
    this.ids.add(item.id)
    this.describe(item)
  }

  protected abstract describe(item: T): void
}

export class Domains extends Dictionary<Domain> {
  readonly #hosts = new TextColumn()
  readonly #sites = new TextColumn()

  protected describe({ host, site }: Domain): void {
    this.#hosts.add(host)
    this.#sites.add(site)
  }

  columns() {
    return [this.ids, this.#hosts, this.#sites]
  }
}

export class Pages extends Dictionary<Page> {
  readonly #domains = new UuidColumn()
  readonly #urls = new TextColumn()
  readonly #keys = new TextColumn()

  protected describe({ domain, url, key }: Page): void {
    this.#domains.add(domain?.id ?? null)
    this.#urls.add(url)
    this.#keys.add(key)
  }

  columns() {
    return [this.ids, this.#domains, this.#urls, this.#keys]
  }
}

export class Entities extends Dictionary<Entity> {
  readonly #names = new TextColumn()
  readonly #types = new TextColumn()

  protected describe({ name, type }: Entity): void {
    this.#names.add(name)
    this.#types.add(type)
  }

  columns() {
    return [this.ids, this.#names, this.#types]
  }
}

export class Terms extends Dictionary<Term> {
  readonly #texts = new TextColumn()

  protected describe({ text }: Term): void {
    this.#texts.add(text)
  }

  columns() {
    return [this.ids, this.#texts]
  }
}
