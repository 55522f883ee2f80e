/** Text that is HTML already. Everything else is escaped on its way into a template. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | string | number | null | undefined | readonly Part[]

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
}

/** HTML with values in it: what the values say is text, wherever it stands. */
export function html(strings: TemplateStringsArray, ...values: readonly Part[]): Html {
  let text = strings[0] ?? ''
  for (const [index, value] of values.entries()) {
    text += written(value) + (strings[index + 1] ?? '')
  }
  return new Html(text)
}

function written(value: Part): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(written).join('')
  return clean(String(value)).replace(/[&<>"'`]/g, (character) => entities[character] ?? '')
}

// Characters that HTML forbids, and those that turn the direction of the text around them.
// eslint-disable-next-line no-control-regex -- they are what is to go
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

function clean(text: string): string {
  return text.toWellFormed().replace(forbidden, '\ufffd')
}

/** An address as a link, when it is one of the web; any other stays text. */
export function link(url: string | null, text: string | null): Html {
  if (url === null || !/^https?:\/\//i.test(url) || !URL.canParse(url)) return html`${text}`
  return html`<a href="${new URL(url).href}" rel="noopener noreferrer nofollow">${text}</a>`
}

const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 })

/** A number as people read it: `12,345`. */
export function numberText(value: number): string {
  return grouped.format(value)
}

/** The same where there is little room: `12.35K`. */
export function shortNumber(value: number): string {
  return compact.format(value)
}

const points = new Intl.NumberFormat('en', {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
  signDisplay: 'exceptZero',
})

/** How much a share changed, in points of a hundred. */
export function change(share: number): Html {
  return coloured(points.format(share * 100), share)
}

/** What is nought when it is rounded is neither won nor lost. */
function coloured(text: string, value: number): Html {
  const tone = text === '0.00' ? 'none' : value > 0 ? 'good' : 'bad'
  return html`<span class="${tone}">${text}</span>`
}

/** Clicks won or lost, as an index of the curve. */
export function clicks(value: number): Html {
  return coloured(points.format(value), value)
}
