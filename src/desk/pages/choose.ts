// Forms for selecting days, lists, tags and similar filters.

import { siteName } from '../../base/address.ts'
import type { AskedSpan, ReadSpan } from '../../features/analysis/span.ts'
import type { DaySpan } from '../../base/time/zone.ts'
import type { PageAddress } from '../address.ts'
import { element, type Html, html } from '../drawing/html.ts'
import type { PagePlace } from '../page.ts'

/** Reads the days from the address. Defaults for missing days are determined when the data is read. */
export function askedSpan(
  address: PageAddress,
  limits: Pick<AskedSpan, 'days' | 'most'>,
): AskedSpan {
  const [since, until] = [address.day('since'), address.day('until')]
  // Rejects a period that ends before it begins.
  if (since !== null && until !== null) address.span({ today: until, days: 1 })
  return { since, until, ...limits }
}

export function askedDomains(address: PageAddress): readonly string[] {
  return address
    .texts('domain')
    .flatMap((typed) => typed.split(/[\s,]+/))
    .map(siteName)
    .filter((name) => name !== '')
}

export function daysText({ since, until, cut }: ReadSpan, place: PagePlace): string {
  const bound = cut ? ' (the maximum for one page)' : ''
  return `${since} to ${until}${bound}, in the time zone ${place.zone}`
}

type Field = (place: PagePlace) => Html

export function chooser(
  { place, name, keep = [] }: { place: PagePlace; name: string; keep?: readonly string[] },
  fields: readonly Field[],
  button: string | Html = 'Show',
): Html {
  if (place.still) return html``
  const kept = ['origins', 'suspects', ...keep].map((filter) => {
    const value = filterOf(place, filter)
    return value === '' ? null : hiddenField(filter, value)(place)
  })
  return html`<form class="filters" method="get" action="${place.path}" aria-label="${name}">
    ${kept} ${fields.map((field) => field(place))}
    ${typeof button === 'string' ? html`<button>${button}</button>` : button}
  </form>`
}

export function dayChooser(place: PagePlace, span: DaySpan, keep: readonly string[] = []): Html {
  return chooser({ place, name: 'Which days', keep }, dayFields(span))
}

export function dayFields({ since, until }: DaySpan): readonly Field[] {
  return [dayField('since', 'From', since), dayField('until', 'To', until)]
}

export function dayField(name: string, label: string, value: string): Field {
  return () => html`<label>${label} ${element('input', { type: 'date', name, value })}</label>`
}

export function hiddenField(name: string, value: string): Field {
  return () => element('input', { type: 'hidden', name, value })
}

/** Text field. The value is taken from the filter with the same name, unless the options set a value. */
export function textField(
  name: string,
  label: Html | string,
  options: Parameters<typeof element>[1] = {},
): Field {
  return (place) => {
    const value = filterOf(place, name)
    const attributes = { name, value, dir: 'auto', autocomplete: 'off', ...options }
    return html`<label>${label} ${element('input', attributes)}</label>`
  }
}

export function selectField(
  name: string,
  label: string,
  {
    words,
    value: chosen,
  }: { words: readonly (string | readonly [value: string, text: string])[]; value?: string },
): Field {
  return (place) => {
    const now = chosen ?? filterOf(place, name)
    const options = words.map((word) => {
      const [value, text] = typeof word === 'string' ? [word, word] : word
      return element('option', { value, selected: value === now }, text)
    })
    return html`<label
      >${label}
      <select name="${name}">
        <option value="">any</option>
        ${options}
      </select></label
    >`
  }
}

export function checkbox(input: { name: string; value: string; checked: boolean }, label: string) {
  return html`<label>${element('input', { type: 'checkbox', ...input })} ${label}</label>`
}

export function moreFields(title: string, open: boolean, fields: readonly Field[]): Field {
  return (place) =>
    element(
      'details',
      { class: 'narrow', open },
      html`<summary>${title}</summary>
        <div class="filters">${fields.map((field) => field(place))}</div>`,
    )
}

function filterOf({ filters }: PagePlace, name: string): string {
  return filters.get(name)?.trim() ?? ''
}
