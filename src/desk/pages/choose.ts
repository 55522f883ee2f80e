// Forms for selecting days, lists, labels and the like.

import type { AskedSpan, ReadSpan } from '../../features/analysis/span.ts'
import { BadAddress, type PageAddress } from '../address.ts'
import { type Html, html } from '../drawing/html.ts'
import type { PagePlace } from '../page.ts'

/** Days from the address; defaults are determined when the data is read. */
export function askedSpan(
  address: PageAddress,
  { days, most }: Pick<AskedSpan, 'days' | 'most'>,
): AskedSpan {
  const [since, until] = [address.day('since'), address.day('until')]
  if (since !== null && until !== null && since > until) {
    throw new BadAddress(`since: expected a day up to until, ${until}, got ${since}.`)
  }
  return { since, until, days, most }
}

/** Describes the period, and says if it was cut short. */
export function daysText({ since, until, cut }: ReadSpan, place: PagePlace): string {
  const bound = cut ? ' (more days are not read at once)' : ''
  return `${since} to ${until}${bound}, days in ${place.zone}`
}

/** A form that reloads the page with other filters; works without script, and every selection has an address. */
export function chooser(
  { place, name, keep = [] }: { place: PagePlace; name: string; keep?: readonly string[] },
  fields: Html | readonly Html[],
  button = 'Show',
): Html {
  if (place.still) return html``
  return html`<form class="filters" method="get" action="${place.path}" aria-label="${name}">
    ${keptFilters(place, keep)} ${fields}
    <button>${button}</button>
  </form>`
}

/** Hidden fields for the filters that every page keeps, and for further ones of this page. */
export function keptFilters(place: PagePlace, more: readonly string[] = []): readonly Html[] {
  return ['origins', 'suspects', ...more].flatMap((name) => {
    const value = place.filters.get(name)
    return value === null || value === ''
      ? []
      : [html`<input type="hidden" name="${name}" value="${value}" />`]
  })
}

export function dayFields({ since, until }: Pick<ReadSpan, 'since' | 'until'>): Html {
  return html`${dayField({ name: 'since', label: 'From', value: since })}
  ${dayField({ name: 'until', label: 'To', value: until })}`
}

/** Field for a day. */
export function dayField(field: { name: string; label: string; value: string }): Html {
  return html`<label
    >${field.label} <input type="date" name="${field.name}" value="${field.value}"
  /></label>`
}

/** Field for text. */
export function textField(field: {
  name: string
  label: string
  value: string | null
  hint?: string
}): Html {
  return html`<label
    >${field.label}
    <input
      name="${field.name}"
      value="${field.value ?? ''}"
      placeholder="${field.hint ?? ''}"
      dir="auto"
      autocomplete="off"
  /></label>`
}

/** Field for one of several words; the empty one means any. */
export function selectField(field: {
  readonly name: string
  readonly label: string
  readonly value: string | null
  readonly words: readonly (string | readonly [value: string, text: string])[]
}): Html {
  return html`<label
    >${field.label}
    <select name="${field.name}">
      <option value="">any</option>
      ${field.words.map((word) => {
        const [value, text] = typeof word === 'string' ? [word, word] : word
        const chosen = value === field.value ? html` selected` : null
        return html`<option value="${value}" ${chosen}>${text}</option>`
      })}
    </select></label
  >`
}
