// Builds HTML in which all values are escaped.

import { parseUrl } from '../../base/address.ts'

/** Text that is already HTML. All other values are escaped in templates. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type Part = Html | string | number | null | undefined | readonly Part[]

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
}

export function html(strings: TemplateStringsArray, ...values: readonly Part[]): Html {
  let text = strings[0] ?? ''
  for (const [index, value] of values.entries()) {
    text += written(value) + (strings[index + 1] ?? '')
  }
  return new Html(text)
}

/** Builds an element. Rounds coordinates, and omits attributes without a value. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | number | boolean | null | undefined>>,
  ...content: readonly Part[]
): Html {
  const given = Object.entries(attributes).map(([key, value]) => {
    if (value === null || value === undefined || value === false) return ''
    if (value === true) return ` ${key}`
    return ` ${key}="${written(typeof value === 'number' ? tenths(value) : value)}"`
  })
  const inside = content.length === 0 ? '/>' : `>${written(content)}</${name}>`
  return new Html(`<${name}${given.join('')}${inside}`)
}

export function tenths(value: number): number {
  return Math.round(value * 10) / 10
}

function written(value: Part): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(written).join('')
  return clean(String(value)).replace(/[&<>"'`]/g, (character) => entities[character] ?? '')
}

// Characters that HTML forbids, and characters that change the direction of the text around them.
// eslint-disable-next-line no-control-regex -- these are the characters to remove
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

function clean(text: string): string {
  return text.toWellFormed().replace(forbidden, '\ufffd')
}

/** Returns a link to a web address, or only the text for any other address. */
export function link(url: string | null, text: string | null): Html {
  const parsed = url !== null && /^https?:\/\//i.test(url) ? parseUrl(url) : null
  if (parsed === null) return html`${text}`
  return html`<a href="${parsed.href}" rel="noopener noreferrer nofollow">${text}</a>`
}

const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 })

/** Formats a number for display: `12,345`. */
export const numberText = (value: number) => grouped.format(value)

/** Formats a number for limited space: `12.35K`. */
export const shortNumber = (value: number) => compact.format(value)

const points = new Intl.NumberFormat('en', {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
  signDisplay: 'exceptZero',
})

export function change(share: number): Html {
  return clicks(share * 100)
}

/** Formats clicks won or lost, as an index based on the click curve. A value that rounds to 0 has no color. */
export function clicks(value: number): Html {
  const text = points.format(value)
  const tone = text === '0.00' ? 'none' : value > 0 ? 'good' : 'bad'
  return html`<span class="${tone}">${text}</span>`
}
