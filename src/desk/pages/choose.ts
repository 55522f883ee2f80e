// Forms for selecting days, lists, tags and similar filters.

import { siteName } from '../../base/address.ts'
import type { AskedSpan, ReadSpan } from '../../features/analysis/span.ts'
import type { DaySpan } from '../../base/time/zone.ts'
import { BadAddress, type PageAddress } from '../address.ts'
import { element, type Html, html } from '../drawing/html.ts'
import type { PagePlace } from '../page.ts'

/** Reads the days from the address. Defaults for missing days are determined when the data is read. */
export function askedSpan(
  address: PageAddress,
  { days, most }: Pick<AskedSpan, 'days' | 'most'>,
): AskedSpan {
  const [since, until] = [address.day('since'), address.day('until')]
  if (since !== null && until !== null && since > until) {
    throw new BadAddress(`since: expected a day no later than until (${until}), got ${since}.`)
  }
  return { since, until, days, most }
}

/** Reads the domains entered in one field or in several fields. */
export function askedDomains(address: PageAddress): readonly string[] {
  return address
    .texts('domain')
    .flatMap((typed) => typed.split(/[\s,]+/))
    .map(siteName)
    .filter((name) => name !== '')
}

/** Describes the period, and says whether it was shortened. */
export function daysText({ since, until, cut }: ReadSpan, place: PagePlace): string {
  const bound = cut ? ' (the most days that one page shows)' : ''
  return `${since} to ${until}${bound}, days in ${place.zone}`
}

type Field = (place: PagePlace) => Html

/** The form works without scripts, and every selection has its own address. */
export function chooser(
  { place, name, keep = [] }: { place: PagePlace; name: string; keep?: readonly string[] },
  fields: readonly Field[],
  button: string | Html = 'Show',
): Html {
  if (place.still) return html``
  const kept = ['origins', 'suspects', ...keep]
    .map((filter) => [filter, filterOf(place, filter)] as const)
    .filter(([, value]) => value !== '')
    .map(([filter, value]) => hiddenField(filter, value)(place))
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

/** Attributes of a text field. Its value is that of the filter with the same name, unless another value is given. */
interface TextOptions {
  readonly value?: string
  readonly placeholder?: string
  readonly type?: 'text' | 'date'
  readonly required?: boolean
}

export function textField(name: string, label: Html | string, options: TextOptions = {}): Field {
  return (place) => {
    const value = filterOf(place, name)
    const attributes = { name, value, dir: 'auto', autocomplete: 'off', ...options }
    return html`<label>${label} ${element('input', attributes)}</label>`
  }
}

interface SelectOptions {
  readonly words: readonly (string | readonly [value: string, text: string])[]
  /** Selected word. The default is the value of the filter with the same name. */
  readonly value?: string
}

/** Field for selecting one of several words. The empty word stands for any word. */
export function selectField(
  name: string,
  label: string,
  { words, value: chosen }: SelectOptions,
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

export function checkbox(
  attributes: { readonly name: string; readonly value: string; readonly checked: boolean },
  label: string,
): Html {
  return html`<label>${element('input', { type: 'checkbox', ...attributes })} ${label}</label>`
}

/** Fields that are hidden until the visitor unfolds them. */
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
