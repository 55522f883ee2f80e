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
