// Links to queries, days, domains, pages and lists, with their names.

import { type Html, html } from '../drawing/html.ts'
import { given, to, unknown } from '../drawing/parts.ts'
import type { PagePlace } from '../page.ts'

/** Selected days; null: the page's default. */
interface Days {
  readonly since?: string | null
  readonly until?: string | null
}

export function toQuery(place: PagePlace, id: string, q: string): Html {
  return to(place.href(`/queries/${id}`), given(q))
}

/** Address of a query's answer on a day, next to that of another day if one is given. */
export function nightPath(query: string, day: string): string {
  return `/queries/${query}/nights/${day}`
}

export function toDomain(
  place: PagePlace,
  domain: string | null,
  // Only the days of a span are part of the address.
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

/** Describes the parameters of a query; null if it only has a text. */
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

/** Position change as colored text: up is green, and the text says so. */
export function moved(previous: number | null, now: number | null): Html {
  if (previous === null && now === null) return unknown
  if (previous === null) return html`<span class="good">new</span>`
  if (now === null) return html`<span class="bad">gone</span>`
  if (previous === now) return html`<span class="none" aria-label="the same position">=</span>`
  const up = now < previous
  return html`<span class="${up ? 'good' : 'bad'}"
    ><span aria-hidden="true">${up ? '▲' : '▼'}</span
    ><span class="unseen">${up ? 'up' : 'down'} </span>${Math.abs(previous - now)}</span
  >`
}
