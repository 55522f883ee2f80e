// Links to queries, days, domains, pages and lists, and how each is named.

import { type Html, html } from '../drawing/html.ts'
import { given, to, unknown } from '../drawing/parts.ts'
import type { PagePlace } from '../page.ts'

/** Days that are looked at; null: those that the page chooses. */
interface Days {
  readonly since?: string | null
  readonly until?: string | null
}

export function toQuery(place: PagePlace, id: string, q: string): Html {
  return to(place.href(`/queries/${id}`), given(q))
}

/** The answer to a query of a day, beside that of another day where one is named. */
export function nightPath(query: string, day: string): string {
  return `/queries/${query}/nights/${day}`
}

export function toDomain(
  place: PagePlace,
  domain: string | null,
  // Of a span that was read its days alone: the rest of it belongs to no address.
  { since = null, until = null }: Days = {},
): Html {
  if (domain === null) return unknown
  return to(place.href(`/domains/${encodeURIComponent(domain)}`, { since, until }), given(domain))
}

export function toPage(place: PagePlace, id: string | null, name: string | null): Html {
  if (name === null) return unknown
  return id === null ? given(name) : to(place.href(`/pages/${id}`), given(name))
}

export function toList(place: PagePlace, id: number, name: string): Html {
  return to(place.href(`/lists/${id}`), given(name))
}

/** Parameters of a query in words; null: nothing but its text. */
export function askedAs(query: {
  readonly device: string | null
  readonly location: string | null
  readonly hl: string | null
  readonly gl: string | null
  readonly num: number
}): string {
  const told = [
    query.device,
    query.location,
    query.hl === null ? null : `language ${query.hl}`,
    query.gl === null ? null : `country ${query.gl}`,
    `${query.num} results`,
  ]
  return told.filter((word) => word !== null).join(', ')
}

/** The moves of a place in words and colour: up is green, and says so. */
export function moved(previous: number | null, now: number | null): Html {
  if (previous === null && now === null) return unknown
  if (previous === null) return html`<span class="good">new</span>`
  if (now === null) return html`<span class="bad">gone</span>`
  if (previous === now) return html`<span class="none" aria-label="the same place">=</span>`
  const up = now < previous
  return html`<span class="${up ? 'good' : 'bad'}"
    ><span aria-hidden="true">${up ? '▲' : '▼'}</span
    ><span class="unseen">${up ? 'up' : 'down'} </span>${Math.abs(previous - now)}</span
  >`
}
