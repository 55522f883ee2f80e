// Links to the desk's pages on queries, domains, pages and lists.

import type { Database } from '../../base/database/database.ts'
import { groupBy } from '../../base/query.ts'
import { type Html, html } from '../drawing/html.ts'
import { given, to, unknown } from '../drawing/parts.ts'
import { column } from '../drawing/tables.ts'
import type { PagePlace } from '../page.ts'

export function toQuery(place: PagePlace, id: string, q: string): Html {
  return to(place.href(`/queries/${id}`), given(q))
}

export function toVariant(
  place: PagePlace,
  { queryId, q, variant }: Readonly<Record<'queryId' | 'q' | 'variant', string>>,
): Html {
  return html`${toQuery(place, queryId, q)}${variant === '' ? null : html` <span class="soft">${variant}</span>`}`
}

/** Link to a query's answer from a day. If `beside` is given, the page also shows that day's answer. */
export function toNight(
  { href }: PagePlace,
  query: string,
  { day, beside = null, text = day }: { day: string; beside?: string | null; text?: string },
): Html {
  return to(href(`/queries/${query}/nights/${day}`, { beside }), text)
}

export function toDomain(
  place: PagePlace,
  domain: string | null,
  // Callers may pass a whole span, but the address contains only `since` and `until`.
  {
    since = null,
    until = null,
  }: { readonly since?: string | null; readonly until?: string | null } = {},
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

export function toRun({ href }: PagePlace, run: number, text: Html | string | number = run): Html {
  return to(href(`/runs/${run}`), text)
}

/** A query, with all parameters that distinguish it from other queries with the same text. */
export type Variant = Awaited<ReturnType<typeof readVariants>>[number]

/** Reads all queries with the given texts, for any device or place. */
export function readVariants(db: Database, texts: readonly string[]) {
  return db
    .selectFrom('queries')
    .select(['id as queryId', 'q', 'device', 'location', 'hl', 'gl', 'num'])
    .where((eb) => eb('q', '=', eb.fn.any(eb.val(texts))))
    .execute()
}

type Asked = Pick<Variant, 'device' | 'location' | 'hl' | 'gl' | 'num'>

const parameters: readonly ((asked: Asked) => string | null)[] = [
  ({ device }) => device,
  ({ location }) => location,
  ({ hl }) => (hl === null ? null : `language ${hl}`),
  ({ gl }) => (gl === null ? null : `country ${gl}`),
  ({ num }) => `${num} results`,
]

export function askedAs(query: Asked): string {
  return parameters.flatMap((word) => word(query) ?? []).join(', ')
}

/** Labels queries by text, plus the parameters that distinguish queries with the same text. */
export function nameVariants(variants: readonly Variant[]): ReadonlyMap<string, string> {
  const named = [...groupBy(variants, ({ q }) => q).values()].flatMap((same) => {
    const differing = parameters.filter((word) => new Set(same.map(word)).size > 1)
    return same.map((variant) => {
      const words = differing.flatMap((word) => word(variant) ?? [])
      const { queryId, q } = variant
      return [queryId, words.length === 0 ? q : `${q} (${words.join(', ')})`] as const
    })
  })
  return new Map(named)
}

/** Summarises the days on which something was seen, newest first. */
export function seen(own: readonly { readonly runDate: string }[]) {
  const days = new Set(own.map(({ runDate }) => runDate)).size
  return { days, first: own.at(-1)?.runDate ?? '', last: own[0]?.runDate ?? '' }
}

export const seenColumns = [
  column.word('First seen', 'first'),
  column.word('Last seen', 'last'),
  column.number('Days', 'days'),
] as const

/** Position change as colored text, with the direction in words for screen readers. */
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
